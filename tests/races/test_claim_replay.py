"""A worker that repeats a claim while the first is still on its way gets one claim, not two."""

from __future__ import annotations

from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

CLAIM = "select * from bpm.claim_tasks(%s, '{pack}', 3, '1 minute', %s)"


def test_one_request_from_several_connections(database: TestDatabase) -> None:
    """Four send the same request at once: all get the same three tasks."""
    kit.deploy(database, kit.process("packs", "start > pack > end", pack=kit.service()))
    for n in range(kit.sized(3, 100)):
        kit.start(database, "packs", 6)
        with Session(database) as eye, kit.sessions(database, 4) as workers:
            # The first is in the middle of its claim; its connection is lost with the commit.
            with Session(database) as first:
                first.begin()
                claimed = first.do(CLAIM, "w", f"r{n}")
                running = [worker.start(CLAIM, "w", f"r{n}") for worker in workers]
                kit.blocked(eye, workers)
                first.commit()
            answers = kit.settled(running)
        want = sorted((row["task_id"], row["fencing_token"]) for row in claimed)
        assert len(want) == 3
        for rows in answers:
            assert isinstance(rows, list), rows
            assert sorted((row["task_id"], row["fencing_token"]) for row in rows) == want
        with Session(database) as worker:
            assert len(worker.do(CLAIM, "w", f"other{n}")) == 3
            worker.do(kit.COMPLETE, kit.answer(claimed))
        database.rows("select bpm.advance_clock('2 minutes')")
        database.rows("select bpm.run_until_idle()")
        database.rows("select bpm.advance_clock('1 minute')")
        assert kit.run_out(database, ["pack"]) == 3


def test_a_claim_that_was_rolled_back_is_claimed_anew(database: TestDatabase) -> None:
    """The repeat of a request that never committed claims for itself."""
    kit.deploy(database, kit.process("packs", "start > pack > end", pack=kit.service()))
    kit.start(database, "packs", 3)
    with Session(database) as eye, Session(database) as lost, Session(database) as again:
        lost.begin()
        assert len(lost.do(CLAIM, "w", "r")) == 3
        running = again.start(CLAIM, "w", "r")
        kit.blocked(eye, [again])
        lost.rollback()
        claimed = running.result()
        assert len(claimed) == 3
        again.do(kit.COMPLETE, kit.answer(claimed))

"""Instances that are half way when the database is upgraded go on under the new code (C30)."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.races import kit

from pgbpm import migrations, resources

# What a later release does: a column more, every function written anew. That the new code is what
# runs afterwards shows in one of them.
NEXT = """
alter table bpm_core.token add column note text;
do $$
declare
  r record;
begin
  for r in select p.oid, pg_get_functiondef(p.oid) as source from pg_proc p
            where p.pronamespace::regnamespace::text in ('bpm', 'bpm_core') and p.prokind = 'f'
  loop
    execute regexp_replace(r.source, '^begin$', E'begin\\n  -- Release two.', 'n');
  end loop;
end
$$;
"""
_ITEMS = (
    '<serviceTask {id} bpm:type="step"><multiInstanceLoopCharacteristics>'
    "<loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></serviceTask>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The migrations there are, and one more."""
    return Path(shutil.copytree(resources.migrations_dir(), tmp_path / "migrations"))


def test_instances_half_way_through_a_split_end_under_new_code(
    empty_database: str, folder: Path
) -> None:
    """A branch at the join, one in hand, a timer, a wait, items and a call, over an upgrade."""
    with (
        psycopg.connect(empty_database, autocommit=True) as admin,
        psycopg.connect(empty_database, autocommit=True, row_factory=dict_row) as worker,
    ):
        migrations.run(admin, folder)
        for file in (
            kit.process("leaf", "start > step > end"),
            kit.process(
                "half",
                "start > fork > a > join; fork > b > join; fork > wait > join;"
                "fork > pause > join; fork > items > join; fork > call > join; join > end",
                wait=kit.message("go"),
                pause=kit.timer("PT1H"),
                items=_ITEMS,
                call='<callActivity {id} calledElement="leaf"/>',
            ),
        ):
            worker.execute("select * from bpm.deploy_bpmn(%s)", [file])
        start = "select * from bpm.start_process('half', '{}', %s)"
        worker.execute(start, ["K"])
        claim = "select * from bpm.claim_tasks('w', %s, 10, '5 hours')"
        done = worker.execute(claim, [["a", "step"]]).fetchall()
        half = [t for t in done if t["task_type"] == "a"] + [
            t for t in done if t["node_id"] == "items"
        ][:1]
        worker.execute(kit.COMPLETE, [kit.answer(half)])
        held = worker.execute(claim, [["b"]]).fetchall()
        assert len(held) == 1

        number = max(m.version for m in migrations.load()) + 1
        (folder / f"{number:04}_next.sql").write_text(NEXT, encoding="utf-8")
        assert migrations.run(admin, folder) == [number]
        new = worker.execute(
            "select p.prosrc like '%%Release two.%%' as new from pg_proc p"
            " where p.oid = 'bpm.complete_tasks(jsonb,text)'::regprocedure"
        ).fetchone()
        assert new == {"new": True}
        # A version more of the same process, for those that start now.
        worker.execute(
            "select * from bpm.deploy_bpmn(%s)", [kit.process("half", "start > other > end")]
        )

        # The session that was there before goes on: its plans are made anew, its lease holds.
        rest = [t for t in done if t not in half] + held
        answers = worker.execute(kit.COMPLETE, [kit.answer(rest)]).fetchall()
        assert {row["outcome"] for row in answers} == {"Completed"}
        message = worker.execute("select * from bpm.correlate_message('go', 'K')").fetchone()
        assert message is not None
        assert message["state"] == "Correlated"
        worker.execute("update bpm_core.timer set due_at = bpm_core.now(), scheduled_at = due_at")
        worker.execute("select bpm.run_until_idle()")
        ended = worker.execute("select status, process_version from bpm.instance").fetchall()
        assert ended == [{"status": "Completed", "process_version": 1}]
        assert worker.execute("select * from bpm.check_invariants()").fetchall() == []
        worker.execute(start, ["L"])
        assert len(worker.execute(claim, [["other"]]).fetchall()) == 1

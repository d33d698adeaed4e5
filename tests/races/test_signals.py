"""Signals begin where the last one of their name found nothing open any more (decision 0043).

A wait that was not seen yet, because who opened it had not committed, must be found by the next
signal all the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from tests.races import kit
from tests.races.kit import Session
from tests.support.database import TestDatabase

_names = itertools.count()
SEND = "select s.receivers from bpm.broadcast_signal(%s) s"


@pytest.fixture
def start(database: TestDatabase) -> Callable[[Session], str]:
    """Starts an instance that waits for a signal; the signal's name."""
    name = f"flare-{next(_names)}"
    database.rows(
        "select * from bpm.deploy_bpmn(%s)",
        [
            f'{kit.HEAD}<signal id="s" name="{name}"/><process id="{name}" isExecutable="true">'
            '<startEvent id="start"/><sequenceFlow id="f1" sourceRef="start" targetRef="hear"/>'
            '<intermediateCatchEvent id="hear"><signalEventDefinition signalRef="s"/>'
            '</intermediateCatchEvent><sequenceFlow id="f2" sourceRef="hear" targetRef="end"/>'
            '<endEvent id="end"/></process></definitions>'
        ],
    )

    def begin(session: Session) -> str:
        session.do("select bpm.start_process(%s)", name)
        return name

    return begin


def receivers(session: Session, name: str) -> int:
    """Broadcasts, and lets it take effect."""
    (row,) = session.do(SEND, name)
    session.do("select bpm.run_until_idle()")
    return int(row["receivers"])


def test_a_wait_whose_opener_was_still_running(
    database: TestDatabase, start: Callable[[Session], str]
) -> None:
    with kit.sessions(database, 2) as (slow, other):
        slow.begin()
        name = start(slow)
        for _ in range(3):  # each moves on from where the one before found nothing
            start(other)
            assert receivers(other, name) == 1
            assert receivers(other, name) == 0
        slow.commit()
        assert receivers(other, name) == 1
        assert receivers(other, name) == 0


def test_transactions_of_another_server_count_for_nothing(
    database: TestDatabase, start: Callable[[Session], str]
) -> None:
    """A restored database: what its signals found safe was counted elsewhere."""
    with Session(database) as session:
        name = start(session)
        assert receivers(session, name) == 1
        there = (
            "update bpm_core.signal set safe_from = '9000000000', server_id = %s where name = %s"
        )
        session.do(there, 1, name)
        start(session)
        assert receivers(session, name) == 1
        here = session.one("select c.system_identifier as id from pg_control_system() c")["id"]
        session.do(there, here, name)  # else it would be passed over
        start(session)
        assert receivers(session, name) == 0

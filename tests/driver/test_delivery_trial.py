"""The trial of ``make delivery-trial``, smaller: each case of the table once. A-16."""

from __future__ import annotations

import pytest
from tests.delivery_trial.cases import MODES, PROFILES, Case, all_cases, expected
from tests.delivery_trial.trial import play_cases
from tests.support.database import TestDatabase


@pytest.mark.slow
def test_each_receiver_each_misbehaviour_each_death(fresh_database: TestDatabase) -> None:
    verdict, receiver = play_cases(fresh_database, all_cases())
    assert verdict.wrong == []
    assert (verdict.lost, verdict.doubled_where_keyed, verdict.unlisted) == (0, 0, 0)
    assert set(verdict.states) == {"Sent", "Failed", "Unknown"}
    assert receiver.book.probes > 0


def test_the_expectation_knows_what_it_is_about() -> None:
    assert expected(Case("plain", "dropped-stored")) == ("Unknown", 1)
    assert expected(Case("keyed", "dropped-stored")) == ("Sent", 1)
    assert expected(Case("asked", "dropped", "accepted")) == ("Sent", 1)
    assert expected(Case("curious", "dropped")) == ("Unknown", 0)
    assert expected(Case("done", "conflict")) == ("Sent", 1)
    assert expected(Case("plain", "conflict")) == ("Failed", 1)
    assert expected(Case("safe", "error-stored")) == ("Sent", 2)  # its profile lies
    for case in all_cases():
        assert not PROFILES[case.profile].honours_keys or expected(case)[1] <= 1
        assert MODES[case.mode].stored or expected(case)[1] <= 1

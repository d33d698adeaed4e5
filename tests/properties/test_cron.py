"""Cron rules against an independent implementation, cronsim, over the changes of the clocks.

cronsim speaks the dialect of Unix (five fields, or six with seconds first), with the time semantics
of Debian's cron, as the engine does: rules of fixed hours fire once a day, also when clocks move;
rules of every hour go by the hours that pass. What only Quartz and Spring have (W, L-3, years,
numbers of weekdays from 1) is tested by exact instants in pgTAP.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.races.kit import sized
from tests.support.database import Connection

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]
STEADY = ["UTC", "Asia/Kolkata"]
NEAR = [  # a few hours before the clocks of one of the zones move, and an ordinary day
    dt.datetime(2026, 3, 28, 20, tzinfo=dt.UTC),
    dt.datetime(2026, 10, 24, 20, tzinfo=dt.UTC),
    dt.datetime(2026, 3, 8, 1, tzinfo=dt.UTC),
    dt.datetime(2026, 11, 1, 0, tzinfo=dt.UTC),
    dt.datetime(2026, 4, 4, 8, tzinfo=dt.UTC),
    dt.datetime(2026, 10, 3, 9, tzinfo=dt.UTC),
    dt.datetime(2027, 12, 30, 7, tzinfo=dt.UTC),
]
NEXT = """
with recursive fires as (
  select bpm_core.cron_next((bpm_core.parse_cron(%(rule)s)).cron, %(zone)s, %(after)s) as at, 1 as n
  union all
  select bpm_core.cron_next((bpm_core.parse_cron(%(rule)s)).cron, %(zone)s, f.at), f.n + 1
    from fires f where f.n < %(count)s and f.at is not null)
select f.at from fires f order by f.n
"""


def field(low: int, high: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    """One field: lists of values, names, ranges and steps."""
    value = st.integers(low, high)
    said = value.map(lambda v: names[v - low] if names and v - low < len(names) else str(v))
    between = st.tuples(value, value).filter(lambda p: p[0] < p[1]).map(lambda p: f"{p[0]}-{p[1]}")
    step = st.integers(1, high - low)
    item = st.one_of(
        said,
        between,
        st.tuples(between, step).map(lambda p: f"{p[0]}/{p[1]}"),
        step.map(lambda n: f"*/{n}"),
    )
    lists = st.lists(item, min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), said, lists)


MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
weekday = st.one_of(
    field(0, 7, DAYS),
    st.tuples(st.integers(0, 6), st.integers(1, 5)).map(lambda p: f"{p[0]}#{p[1]}"),
    st.integers(0, 6).map(lambda d: f"{d}L"),
)
day = st.one_of(field(1, 31), st.just("L"), st.just("*"), st.just("*"))
five = st.tuples(field(0, 59), field(0, 23), day, field(1, 12, MONTHS), weekday).map(" ".join)
at_night = st.tuples(  # where the clocks move
    field(0, 59), field(0, 4), st.just("*"), st.just("*"), st.just("*")
).map(" ".join)
rules = st.one_of(five, at_night)


@settings(
    max_examples=sized(150, 5000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rule=rules,
    zone=st.sampled_from(ZONES),
    near=st.sampled_from(NEAR),
    minutes=st.integers(0, 12 * 60),
)
def test_the_next_instants_are_those_of_cronsim(
    conn: Connection, rule: str, zone: str, near: dt.datetime, minutes: int
) -> None:
    after = near + dt.timedelta(minutes=minutes)
    assume(zone in STEADY or alike_when_clocks_move(*rule.split()[:2]))
    # cronsim passes over 2:30 where the clocks go from 2:00 to 2:30.
    assume(zone != "Australia/Lord_Howe" or not covers_all_hours(rule.split()[1]))
    # Asked in the middle of an hour that comes twice, cronsim may answer with the past.
    begin = after - dt.timedelta(days=1)
    try:
        instants: Iterator[dt.datetime] = CronSim(rule, begin.astimezone(ZoneInfo(zone)))
    except CronSimError:
        instants = iter(())  # no month has such a day
    later = (at.astimezone(dt.UTC) for at in instants if at.astimezone(dt.UTC) > after)
    expected = list(islice(later, 5))
    rows: list[dict[str, Any]] = conn.execute(
        NEXT, {"rule": rule, "zone": zone, "after": after, "count": 5}
    ).fetchall()
    assert [row["at"] for row in rows if row["at"] is not None] == expected


def alike_when_clocks_move(minutes: str, hours: str) -> bool:
    """Whether both count a rule as one of fixed hours, or as one of every hour.

    To cronsim every field that begins with * makes a rule one of every hour; to the engine it is
    one if it has all hours, for only then it cannot miss one that is skipped.
    """
    all_hours = hours == "*" or hours == "*/1"
    wild = minutes.startswith("*") or hours.startswith("*")
    return all_hours if wild else not covers_all_hours(hours)


def covers_all_hours(text: str) -> bool:
    """Whether a field of hours other than * names every hour."""
    hours: set[int] = set()
    for item in text.replace("*", "0-23").split(","):
        span, _, step = item.partition("/")
        low, _, high = span.partition("-")
        hours |= set(range(int(low), int(high or low) + 1, int(step or 1)))
    return len(hours) == 24

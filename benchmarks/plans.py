"""The plans a session really uses, those of statements inside of functions included.

They come from auto_explain; nothing is explained again from its text: generic plans, settings of
functions and the checks of foreign keys are what they are in the call.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.errors import Diagnostic

_SETTINGS = {
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
    "client_min_messages": "notice",
}
_PARTITION = re.compile(r"_y\d{4}m\d{2}")
_DURATION = re.compile(r"duration: ([\d.]+) ms\s+plan:\s*(\{.*)", re.S)


@dataclass(frozen=True, slots=True)
class Scan:
    """One node of a plan that reads a table.

    ``index`` is None for a sequential scan; ``columns`` are those its index condition names;
    ``read`` counts the rows it looked at, those it threw away included, over all its loops.
    Partitions carry the name of their table.
    """

    table: str
    index: str | None
    columns: frozenset[str]
    read: int
    kind: str
    condition: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """One execution of one statement."""

    statement: str
    milliseconds: float
    scans: list[Scan]
    joined_away: int
    """Rows that joins made and threw away (two sets joined with each other: n²)."""
    text: dict[str, Any] = field(repr=False, compare=False)


class Sources:
    """Which function a statement stands in."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        query = (
            "select p.proname::text, p.prosrc from pg_proc p"
            " where p.pronamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)"
        )
        with conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
            self._texts: list[tuple[str, str]] = [
                (name, " ".join(text.split())) for name, text in cursor.execute(query)
            ]

    def function(self, statement: str) -> str:
        """Its name, or the statement's first words."""
        words = " ".join(statement.split())
        for length in (160, 80):  # "into …" is cut out of the text of a plan
            for name, text in self._texts:
                if words[:length] in text:
                    return name
        return words[:80]


@contextlib.contextmanager
def captured(conn: psycopg.Connection[Any]) -> Iterator[list[Plan]]:
    """Collect the plan of every statement of the block, nested ones included.

    Needs a superuser (``load 'auto_explain'``) and autocommit.
    """
    plans: list[Plan] = []

    def note(message: Diagnostic) -> None:
        match = _DURATION.match(message.message_primary or "")
        if match:
            plans.append(_plan(float(match.group(1)), json.loads(match.group(2))))

    conn.execute("load 'auto_explain'")
    for name, value in _SETTINGS.items():
        conn.execute("select set_config(%s, %s, false)", [name, value])
    conn.add_notice_handler(note)
    try:
        yield plans
    finally:
        conn.remove_notice_handler(note)
        conn.execute("select set_config('auto_explain.log_min_duration', '-1', false)")


def _plan(milliseconds: float, document: dict[str, Any]) -> Plan:
    scans: list[Scan] = []
    joined_away = 0
    waiting = [(document["Plan"], "")]
    while waiting:
        node, heap = waiting.pop()
        kind, loops = node["Node Type"], node.get("Actual Loops", 1)
        joined_away += round(node.get("Rows Removed by Join Filter", 0) * loops)
        if kind == "Bitmap Heap Scan":  # the index scans below it tell what was read
            heap = node["Relation Name"]
        elif kind == "Bitmap Index Scan" or ("Relation Name" in node and kind.endswith("Scan")):
            scans.append(_scan(node, loops, node.get("Relation Name", heap)))
        waiting.extend((below, heap) for below in node.get("Plans", []))
    return Plan(document["Query Text"], milliseconds, scans, joined_away, document["Plan"])


def _scan(node: dict[str, Any], loops: int, table: str) -> Scan:
    rows = (
        node.get("Actual Rows", 0)
        + node.get("Rows Removed by Filter", 0)
        + node.get("Rows Removed by Index Recheck", 0)
    )
    index, condition = node.get("Index Name"), node.get("Index Cond")
    return Scan(
        table=_PARTITION.sub("", table),
        index=_PARTITION.sub("", index) if index else None,
        columns=condition_columns(condition or ""),
        read=round(rows * loops),
        kind=node["Node Type"],
        condition=condition,
    )


def condition_columns(condition: str) -> frozenset[str]:
    """The index's own columns in a condition as EXPLAIN writes it.

    ``((a = $1) AND (ROW(b, c) > ROW($2, d)))`` names a, b and c; d belongs to another table.
    """
    found: set[str] = set()
    for part in condition.split(" AND "):
        left = part.lstrip("(")
        if left.startswith("ROW("):
            found.update(name.strip(" )") for name in left[4:].partition(")")[0].split(","))
        elif match := re.match(r"[a-z_]+", left):
            found.add(match.group())
    return frozenset(found)

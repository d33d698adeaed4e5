"""The pictures of docs/concepts.md show states there are."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from tests.docs.blocks import CHECKOUT, blocks

PAGE = CHECKOUT / "docs" / "concepts.md"
_MOVE = re.compile(r"^\s*(\[\*\]|\w+) --> (\[\*\]|\w+)(?::|$)", re.M)
PICTURES = [block.text for block in blocks(PAGE) if block.text.startswith("stateDiagram")]
KINDS = [
    ("process_status", set()),
    ("token_state", set()),
    ("task_state", set()),
    ("approval_status", {"Expired"}),  # comes with deadlines
    ("command_state", {"Reconciling"}),  # comes with probes
    ("message_state", set()),
    ("event_state", set()),
]


def _moves(picture: str) -> set[tuple[str, str]]:
    moves = set(_MOVE.findall(picture))
    assert len(moves) == picture.count("-->")
    return moves


def test_there_is_a_picture_of_each() -> None:
    assert len(PICTURES) == len(KINDS)


@pytest.mark.parametrize(
    ("picture", "kind", "not_yet"),
    [(picture, *kind) for picture, kind in zip(PICTURES, KINDS, strict=True)],
    ids=[kind for kind, _ in KINDS],
)
def test_states(
    conn: psycopg.Connection[dict[str, Any]], picture: str, kind: str, not_yet: set[str]
) -> None:
    rows = conn.execute(
        "select e.enumlabel from pg_enum e where e.enumtypid = %s::regtype", [f"bpm_core.{kind}"]
    )
    there = {row["enumlabel"] for row in rows}
    drawn = {state for move in _moves(picture) for state in move} - {"[*]"}
    assert drawn == there - not_yet


def test_moves_of_tokens(conn: psycopg.Connection[dict[str, Any]]) -> None:
    rows = conn.execute("select from_state, to_state from bpm_core.token_transition")
    allowed = {(str(row["from_state"]), str(row["to_state"])) for row in rows}
    drawn = {move for move in _moves(PICTURES[1]) if "[*]" not in move}
    assert drawn == allowed

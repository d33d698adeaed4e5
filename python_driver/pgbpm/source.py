"""The tree ``sql/`` as text in load order.

Order: ``90_access/roles.sql`` by the installer; then as ``bpm_owner`` the ``tables.sql`` of every
room, all functions of every room, the ``views.sql`` of every room, ``90_access/grants.sql``.
Rooms from 95 on are test kit and no part of the product.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pgbpm.resources import sql_dir

ACCESS_ROOM = "90_access"
TEST_KIT_FROM = 95
_FROM = "-- from "
_OWN_PLACE = {"tables.sql", "views.sql", "roles.sql", "grants.sql"}


def rooms(root: Path | None = None) -> list[Path]:
    """The product's rooms in load order."""
    return [room for room in _all_rooms(root) if _number(room) < TEST_KIT_FROM]


def bootstrap_sql(root: Path | None = None) -> str:
    """The idempotent bootstrap: roles, schemas, extensions. Run by the installer."""
    return _text([_root(root) / ACCESS_ROOM / "roles.sql"])


def tables_sql(root: Path | None = None) -> str:
    """All types and tables. Run as ``bpm_owner``."""
    return _text(room / "tables.sql" for room in rooms(root))


def code_sql(root: Path | None = None) -> str:
    """All functions, views and grants. Run as ``bpm_owner`` with ``check_function_bodies`` off."""
    return "\n".join(
        [
            _text(function_files(root)),
            _text(room / "views.sql" for room in rooms(root)),
            _text([_root(root) / ACCESS_ROOM / "grants.sql"]),
        ]
    )


def function_files(root: Path | None = None) -> list[Path]:
    """The files that hold one function each."""
    return [
        file
        for room in rooms(root)
        for file in sorted(room.glob("*.sql"))
        if file.name not in _OWN_PLACE
    ]


def kit_sql(root: Path | None = None) -> str:
    """What tests add to their databases (clock and the like). Run by the installer."""
    kit = [room for room in _all_rooms(root) if _number(room) >= TEST_KIT_FROM]
    return _text(file for room in kit for file in sorted(room.glob("*.sql")))


def whole_sql(root: Path | None = None) -> str:
    """Everything as one script for an empty database, run by a superuser in one transaction."""
    return "\n".join(
        [
            bootstrap_sql(root),
            "set role bpm_owner;",
            "set check_function_bodies = off;",
            "set local search_path = pg_catalog, pg_temp;",
            tables_sql(root),
            code_sql(root),
            "reset check_function_bodies;",
            "reset role;",
        ]
    )


def _root(root: Path | None) -> Path:
    return sql_dir() if root is None else root


def _all_rooms(root: Path | None) -> Iterator[Path]:
    for folder in sorted(_root(root).glob("[0-9][0-9]_*")):
        if folder.is_dir():
            yield folder


def _number(room: Path) -> int:
    return int(room.name[:2])


def locate(text: str, position: int) -> str:
    """Where the character ``position`` (from 1) of a joined text comes from, for messages."""
    before = text[:position].splitlines()
    for number in range(len(before) - 1, -1, -1):
        if before[number].startswith(_FROM):
            return f"{before[number].removeprefix(_FROM)} line {len(before) - number - 1}"
    return f"line {len(before)}"


def _text(files: Iterable[Path]) -> str:
    """The files that exist, one after the other, each under its name."""
    parts = [
        f"{_FROM}{file.parent.name}/{file.name}\n{file.read_text(encoding='utf-8').strip()}\n"
        for file in files
        if file.exists()
    ]
    return "\n".join(parts)

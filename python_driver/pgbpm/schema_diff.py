"""Two schemas compared by one canonical catalog query, and the migration that lies between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

Conn = psycopg.Connection[Any]
HAND_MARK = "-- BY HAND:"
"""Starts each line that a person still has to turn into statements; ``make lint`` refuses it."""

PINNED = "set local search_path = pg_catalog, pg_temp;"
"""At the head of each migration: what it creates must not resolve a name or an operator in a schema
where others than the installer may create things."""

_CODE_KINDS = {"function", "function shape", "view", "privileges", "comment", "owner"}


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of the catalog query."""

    kind: str
    name: str
    definition: str
    position: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that only one side has, or that differs (``old`` and ``new`` both set)."""

    kind: str
    name: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        verb = "missing" if self.old is None else "gone" if self.new is None else "differs"
        return f"{self.kind} {self.name}: {verb}"


Schema = dict[tuple[str, str], Fact]


def read_schema(conn: Conn) -> Schema:
    """The canonical form of the schema of one database."""
    query = Path(__file__).with_name("catalog.sql").read_text(encoding="utf-8")
    with conn.transaction(), conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        cursor.execute("set local search_path = pg_catalog")
        rows = cursor.execute(psycopg.sql.SQL(query)).fetchall()
    return {(kind, name): Fact(kind, name, text or "", place) for kind, name, text, place in rows}


def compare(old: Schema, new: Schema) -> list[Difference]:
    """What has to change in ``old`` to become ``new``."""
    return [
        Difference(
            *key,
            old=old[key].definition if key in old else None,
            new=new[key].definition if key in new else None,
        )
        for key in sorted(old.keys() | new.keys())
        if (key in old) != (key in new) or old[key].definition != new[key].definition
    ]


def write_migration(old: Schema, new: Schema, view_users: dict[str, set[str]]) -> str:
    """The statements from ``old`` to ``new``, empty if nothing differs.

    Functions, views, privileges and comments are written out; the rest (types, tables, columns,
    constraints, indexes, policies, default privileges, …) becomes comment lines that start with
    :data:`HAND_MARK`. ``view_users`` maps a view of ``old`` to the views that read it.
    """
    differences = compare(old, new)
    by_hand = [d for d in differences if d.kind not in _CODE_KINDS and not _implied(d, new)]
    changed = {(d.kind, d.name): d for d in differences}
    views = _views_to_rebuild(changed, view_users)
    functions = {name for kind, name in changed if kind == "function"}
    reshaped = {n for n in functions if _both(changed.get(("function shape", n)))}
    gone = {n for n in functions if ("function", n) not in new}
    rebuilt = views | reshaped | (functions - {n for k, n in old if k == "function"})
    parts = [
        [_by_hand(d) for d in by_hand],
        [f"drop view {n};" for n in _ordered(views, "view", old, reverse=True)],
        [f"drop function {n};" for n in sorted(gone | reshaped)],
        [
            f"{new['function', n].definition.rstrip()};"
            for n in _ordered(functions, "function", new)
        ],
        [f"create view {n} {new['view', n].definition}" for n in _ordered(views, "view", new)],
        [line for fact in _granted(new, changed, rebuilt) for line in _grants(fact, old)],
        [_comment(key[1], new.get(key)) for key in _commented(new, changed, rebuilt)],
    ]
    return "\n".join("\n\n".join(p) + "\n" for p in parts if p)


def view_users(conn: Conn) -> dict[str, set[str]]:
    """For each view of ours the views of ours that read it, directly."""
    query = """
        select s.oid::regclass::text, v.oid::regclass::text
          from pg_depend d
          join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
          join pg_class v on v.oid = r.ev_class and v.relkind = 'v'
          join pg_class s on s.oid = d.refobjid and s.relkind = 'v' and s.oid <> v.oid
         where d.refclassid = 'pg_class'::regclass
           and s.relnamespace::regnamespace::text like 'bpm%'
    """
    users: dict[str, set[str]] = {}
    with conn.transaction(), conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        cursor.execute("set local search_path = pg_catalog")
        for source, user in cursor.execute(query):
            users.setdefault(source, set()).add(user)
    return users


def _both(difference: Difference | None) -> bool:
    return difference is not None and difference.old is not None and difference.new is not None


def _implied(difference: Difference, new: Schema) -> bool:
    """What goes with its table need not be said beside it."""
    table = difference.name.rpartition(".")[0]
    kinds = {"column", "constraint", "policy", "trigger"}
    return difference.new is None and difference.kind in kinds and ("table", table) not in new


def _views_to_rebuild(
    changed: dict[tuple[str, str], Difference], users: dict[str, set[str]]
) -> set[str]:
    """The views that differ, and all that read them, directly or not."""
    views = {name for kind, name in changed if kind == "view"}
    waiting = list(views)
    while waiting:
        for user in users.get(waiting.pop(), set()) - views:
            views.add(user)
            waiting.append(user)
    return views


def _ordered(
    names: Iterable[str], kind: str, schema: Schema, *, reverse: bool = False
) -> list[str]:
    there = [name for name in names if (kind, name) in schema]
    return sorted(there, key=lambda name: schema[kind, name].position, reverse=reverse)


def _granted(
    new: Schema, changed: dict[tuple[str, str], Difference], rebuilt: set[str]
) -> list[Fact]:
    """Privileges to write: those that changed, and all of what is made anew."""
    return [
        fact
        for key, fact in sorted(new.items())
        if key[0] == "privileges"
        and (key in changed or key[1].partition(" ")[2] in rebuilt)
        and (key[1].partition(" ")[0] in {"function", "procedure", "table", "sequence", "schema"})
    ]


def _grants(fact: Fact, old: Schema) -> list[str]:
    """Everything revoked from whoever had it, then what is wanted granted."""
    target = fact.name
    before = old.get(("privileges", target))
    had = {"public"} | {_grantee(p) for p in _items(before.definition if before else "")}
    lines = [f"revoke all on {target} from {', '.join(sorted(had))};"]
    for item in _items(fact.definition):
        what, _, who = item.partition(" to ")
        lines.append(f"grant {what} on {target} to {who};")
    return lines


def _items(definition: str) -> list[str]:
    return [item for item in definition.split("; ") if item]


def _grantee(item: str) -> str:
    return item.partition(" to ")[2].removesuffix(" with grant option")


def _commented(
    new: Schema, changed: dict[tuple[str, str], Difference], rebuilt: set[str]
) -> list[tuple[str, str]]:
    keys = {key for key in changed if key[0] == "comment" and key in new}
    keys |= {
        key
        for key in new
        if key[0] == "comment"
        and (key[1].partition(" ")[2] in rebuilt or _column_of(key[1], rebuilt))
    }
    gone = {
        key
        for key, difference in changed.items()
        if key[0] == "comment" and difference.new is None and _keeps_comment(key[1], new, rebuilt)
    }
    return sorted(keys | gone)


def _column_of(what: str, views: set[str]) -> bool:
    return what.startswith("column ") and what[7:].rpartition(".")[0] in views


def _keeps_comment(what: str, new: Schema, rebuilt: set[str]) -> bool:
    """Whether the object is still there and not made anew, so that its old comment is, too."""
    kind, _, name = what.partition(" ")
    owner = name.rpartition(".")[0]
    there = (kind, name) in new or (kind == "column" and ("view", owner) in new)
    return there and name not in rebuilt and owner not in rebuilt


def _comment(what: str, fact: Fact | None) -> str:
    text = "null" if fact is None else "'" + fact.definition.replace("'", "''") + "'"
    return f"comment on {what} is {text};"


def _by_hand(difference: Difference) -> str:
    lines = [f"{HAND_MARK} {difference}"]
    for word, text in (("is", difference.old), ("should be", difference.new)):
        if text:
            lines += [f"{HAND_MARK}   {word}: {line}" for line in text.splitlines()]
    return "\n".join(lines)

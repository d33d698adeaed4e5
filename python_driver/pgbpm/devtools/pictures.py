"""``docs/reference/schema.md``: entity-relationship pictures of the tables, room by room.

Everything is read from the catalog of a database; only which room a table belongs to stands in the
folders of ``sql/``. Pictures are Mermaid, which GitHub and most editors draw.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pgbpm import source
from pgbpm.devtools import scratch
from pgbpm.devtools.reference import ROOMS
from pgbpm.resources import sql_dir

_MADE = re.compile(r"^create table bpm_core\.(\w+) \(", re.M)
_HEAD = """\
# Tables

Written from the catalog of a database by `make reference`; a test keeps it so. All tables are in
schema `bpm_core`, which callers cannot reach: read the views of schema `bpm`.

In each picture stand the columns that identify a row or lead to others, and states. A line is a
foreign key; a dotted line is a reference that functions keep, found by its name (`token_id` leads
to `token`), and [I-27](invariants.md) looks after. Hot tables have no foreign keys to shared rows,
because each insert would lock them ([why](../decisions/0003-keys-and-plans.md)). `tenant_id` is
part of every key and of every line, and is left out.
"""

_COLUMNS = """
    select c.relname as "table", a.attname as name, format_type(a.atttypid, null) as type,
           obj_description(c.oid) as about,
           case when t.typtype = 'e' then (
             select array_agg(e.enumlabel::text order by e.enumsortorder)
               from pg_enum e where e.enumtypid = t.oid) end as labels,
           exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p'
                      and a.attnum = any (k.conkey)) as is_key,
           exists (select from pg_index i where i.indrelid = c.oid and i.indisunique
                      and not i.indisprimary and i.indpred is null
                      and a.attnum = any (i.indkey)) as is_unique
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid
     where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p')
       and not c.relispartition
     order by c.relname, a.attnum
"""
_FOREIGN = """
    select c.relname as "table", f.relname as target,
           array(select a.attname::text
                   from unnest(k.conkey) with ordinality x(number, place)
                   join pg_attribute a on a.attrelid = c.oid and a.attnum = x.number
                  where a.attname <> 'tenant_id' order by x.place) as columns,
           exists (select from pg_attribute a
                    where a.attrelid = c.oid and a.attnum = any (k.conkey)
                      and not a.attnotnull) as optional,
           exists (select from pg_index i
                    where i.indrelid = c.oid and i.indisunique and i.indpred is null
                      and i.indkey::int2[] <@ k.conkey) as single
      from pg_constraint k
      join pg_class c on c.oid = k.conrelid
      join pg_class f on f.oid = k.confrelid
     where k.contype = 'f' and c.relnamespace = 'bpm_core'::regnamespace
       and not c.relispartition and not f.relispartition and k.conparentid = 0
     order by c.relname, k.conname
"""
_NULLABLE = """
    select c.relname as "table", a.attname as name
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'bpm_core'::regnamespace and not a.attnotnull
"""


@dataclass(slots=True)
class Table:
    """A table of the schema: which columns its picture shows."""

    name: str
    room: str
    about: str | None = None
    columns: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Line:
    """A reference from ``table`` to ``target``; ``kept_by_functions``: it is no foreign key."""

    table: str
    target: str
    columns: tuple[str, ...]
    optional: bool
    single: bool
    kept_by_functions: bool

    def mermaid(self) -> str:
        """The line as Mermaid draws it, from the one that is referred to."""
        left = "|o" if self.optional else "||"
        right = "o|" if self.single else "o{"
        dash = ".." if self.kept_by_functions else "--"
        label = ", ".join(column.removesuffix("_id") for column in self.columns) or "tenant"
        return f'    {self.target} {left}{dash}{right} {self.table} : "{label}"'


def rooms_of_tables(root: Path) -> dict[str, str]:
    """Table → folder of its room."""
    return {
        name: file.parent.name
        for file in sorted(root.glob("[0-9]*/tables.sql"))
        if file.parent.name < "95"
        for name in _MADE.findall(file.read_text(encoding="utf-8"))
    }


def read_schema(
    conn: psycopg.Connection[dict[str, Any]], rooms: dict[str, str]
) -> tuple[dict[str, Table], list[Line]]:
    """The tables of the rooms and the lines between them."""
    tables = {name: Table(name, room) for name, room in rooms.items()}
    lines = [
        Line(r["table"], r["target"], tuple(r["columns"]), r["optional"], r["single"], False)
        for r in conn.execute(_FOREIGN)
        if r["table"] in tables and r["target"] in tables
    ]
    drawn = {(line.table, column) for line in lines for column in line.columns}
    nullable = {(r["table"], r["name"]) for r in conn.execute(_NULLABLE)}
    for column in conn.execute(_COLUMNS):
        name = (column["table"], column["name"])
        if column["table"] not in tables:
            continue
        table = tables[column["table"]]
        table.about = column["about"]
        target = _meant(column, tables)
        if target and name not in drawn:
            lines.append(Line(table.name, target, (column["name"],), name in nullable, False, True))
            drawn.add(name)
        refers = name in drawn
        if refers or column["is_key"] or column["is_unique"] or column["labels"]:
            table.columns.append({**column, "refers": refers})
    return tables, lines


def _meant(column: dict[str, Any], tables: dict[str, Table]) -> str | None:
    """The table a column leads to by its name: ``host_token_id`` to ``token``."""
    name = str(column["name"])
    if column["type"] != "uuid" or not name.endswith("_id"):
        return None
    words = name.removesuffix("_id").split("_")
    for first in range(len(words)):
        table = "_".join(words[first:])
        for known in (table, f"{table}_instance", _SHORT.get(table, "")):
            if known in tables and (known != column["table"] or first > 0):
                return known
    return None


_SHORT = {"task": "task_instance", "version": "", "instance": "workflow_instance"}


def _entity(table: Table) -> Iterator[str]:
    shown = [column for column in table.columns if column["name"] != "tenant_id"]
    if not shown:
        yield f"    {table.name}"
        return
    yield f"    {table.name} {{"
    for column in shown:
        kind = re.sub(r"\W+", "_", str(column["type"]).removeprefix("bpm_core.")).strip("_")
        marks = [
            mark
            for mark, there in (
                ("PK", column["is_key"]), ("FK", column["refers"]), ("UK", column["is_unique"])
            )
            if there
        ]  # fmt: skip
        labels = column["labels"] or []
        said = f' "{", ".join(labels)}"' if labels and len(labels) <= 12 else ""
        yield f"        {kind} {column['name']}{' ' if marks else ''}{', '.join(marks)}{said}"
    yield "    }"


def _picture(room: str, tables: dict[str, Table], lines: list[Line]) -> Iterator[str]:
    """One room: its tables with their columns, those of other rooms by name."""
    yield "```mermaid"
    yield "erDiagram"
    for table in tables.values():
        if table.room == room:
            yield from _entity(table)
    for line in sorted(lines, key=lambda line: (line.table, line.target, line.columns)):
        if tables[line.table].room == room:
            yield line.mermaid()
    yield "```"


def _overview(tables: dict[str, Table], lines: list[Line]) -> Iterator[str]:
    """All rooms, how many tables each has, how many references go from room to room."""
    count = Counter((tables[line.table].room, tables[line.target].room) for line in lines)
    sizes = Counter(table.room for table in tables.values())
    yield "```mermaid"
    yield "flowchart BT"
    for room in sorted(sizes):
        number, _, name = room.partition("_")
        unit = "table" if sizes[room] == 1 else "tables"
        yield f'    r{number}["{name}<br/>{sizes[room]} {unit}"]'
    for (here, there), lines_between in sorted(count.items()):
        if here != there:
            yield f"    r{here[:2]} -->|{lines_between}| r{there[:2]}"
    yield "```"


def page(conn: psycopg.Connection[dict[str, Any]], root: Path) -> str:
    """The whole page, in Markdown."""
    tables, lines = read_schema(conn, rooms_of_tables(root))
    by_room: dict[str, list[Table]] = defaultdict(list)
    for table in tables.values():
        by_room[table.room].append(table)
    parts = [_HEAD, "\n## All rooms\n\nAn arrow says how many references lead from a room to "]
    parts += ["another.\n\n", "\n".join(_overview(tables, lines)), "\n"]
    for room in sorted(by_room):
        parts.append(f"\n## {ROOMS.get(room, room)}\n\n")
        parts.append("\n".join(_picture(room, tables, lines)))
        parts.append("\n\n| table | holds |\n|---|---|\n")
        parts += [
            f"| `{table.name}` | {(table.about or '–').replace('|', '/').strip()} |\n"
            for table in by_room[room]
        ]
    return "".join(parts)


def target(root: Path) -> Path:
    """The file the page belongs in."""
    return root.parent / "docs" / "reference" / "schema.md"


def write() -> None:
    """Write the page from a database made of ``sql/``, which is thrown away."""
    root = sql_dir()
    with (
        scratch.scratch_server() as server,
        scratch.scratch_database(server) as url,
        psycopg.connect(url, autocommit=True, row_factory=dict_row) as conn,
    ):
        scratch.run_script(conn, source.whole_sql())
        target(root).write_text(page(conn, root), encoding="utf-8")

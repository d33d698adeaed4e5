"""docs/reference/schema.md: the pictures are those of the schema, and can be drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pgbpm.devtools import pictures
from pgbpm.devtools.pictures import Line
from pgbpm.resources import sql_dir
from tests.support.database import TestDatabase

PAGE = pictures.target(sql_dir())
_ENTITY = re.compile(r" {4}(\w+)(?: \{)?")
_COLUMN = re.compile(r" {8}\w+ \w+( PK| FK| UK|, PK|, FK|, UK)*( \"[\w, ]+\")?")
_LINE = re.compile(r" {4}(\w+) (?:\|\||\|o)(?:--|\.\.)(?:o\{|o\|) (\w+) : \"[\w, ]+\"")


def drawings() -> Iterator[list[str]]:
    text = PAGE.read_text(encoding="utf-8")
    for drawing in re.findall(r"```mermaid\n(.*?)```", text, re.S):
        yield drawing.splitlines()


def test_the_page_is_that_of_the_schema(database: TestDatabase) -> None:
    with database.connect() as conn:
        assert pictures.page(conn, sql_dir()) == PAGE.read_text(encoding="utf-8"), (
            "make reference writes it anew"
        )


def test_every_table_is_in_a_picture(database: TestDatabase) -> None:
    rows = database.rows(
        "select c.relname from pg_class c where c.relnamespace = 'bpm_core'::regnamespace"
        "   and c.relkind in ('r', 'p') and not c.relispartition"
    )
    known = pictures.rooms_of_tables(sql_dir())
    missing = {row["relname"] for row in rows} - known.keys()
    # the ledger of migrations is made by the driver, the rest by the test kit
    assert missing <= {"schema_migrations", "test_clock"}


def test_every_line_of_a_picture_is_one_mermaid_knows() -> None:
    seen = 0
    for head, *lines in drawings():
        if head != "erDiagram":
            assert head == "flowchart BT"
            continue
        for line in lines:
            forms = (_ENTITY, _COLUMN, _LINE)
            assert line == "    }" or any(form.fullmatch(line) for form in forms), line
            seen += 1
    assert seen > 200


def test_what_lines_say() -> None:
    one = Line("token", "scope", ("scope_id",), False, False, False)
    assert one.mermaid() == '    scope ||--o{ token : "scope"'
    kept = Line("timer", "token", ("token_id",), True, False, True)
    assert kept.mermaid() == '    token |o..o{ timer : "token"'
    single = Line("result", "task_instance", ("task_instance_id",), False, True, False)
    assert single.mermaid() == '    task_instance ||--o| result : "task_instance"'

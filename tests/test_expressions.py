"""The golden cases of expressions, both languages: what each gives, what is refused and where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgbpm.devtools import scratch

FOLDER = Path(__file__).parent / "expressions"

VALUES = """
    select g.source, g.variables::text, g.expected, c.problem, v.value::text
      from json_to_recordset(%s) g (source text, variables jsonb, expected text)
     cross join lateral bpm_core.compile_expression(g.source) c
     cross join lateral (select bpm_core.evaluate(c.tree, g.variables) as value) v
     where c.problem is not null
        or v.value is distinct from nullif(g.expected, 'undecidable')::jsonb
"""
# A condition may be a path or a tree. What is missing is not true where a name alone is asked.
VERDICTS = """
    select g.source, g.variables::text, g.expected, v.verdict
      from json_to_recordset(%s) g (source text, variables jsonb, expected text)
     cross join lateral bpm_core.compile_condition(g.source, null) c
     cross join lateral (
       select coalesce(jsonb_path_match(g.variables, c.condition, '{}', true),
                       bpm_core.evaluate_condition(c.tree, g.variables)) as verdict) v
     where c.problem is null and g.expected <> 'null'
       and v.verdict::text is distinct from
           case when g.expected in ('true', 'false') then g.expected end
"""
REFUSALS = """
    select g.source, g.problem, g.at, c.problem, c.at
      from json_to_recordset(%s) g (source text, problem text, at integer)
     cross join lateral bpm_core.compile_expression(g.source) c
     where (c.problem, c.at) is distinct from (g.problem, g.at)
"""


def rows(name: str, columns: int) -> list[list[str]]:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    read = [line.split("\t") for line in lines if line and not line.startswith("#")]
    assert all(len(row) == columns for row in read), [r for r in read if len(r) != columns]
    return read


def golden() -> list[dict[str, object]]:
    return [
        {"source": source, "variables": json.loads(variables), "expected": expected}
        for juel, feel, variables, expected in rows("golden.tsv", 4)
        for source in (juel, feel)
        if source != "-"
    ]


@pytest.fixture(scope="module")
def connection(server_url: str, template: str) -> Iterator[psycopg.Connection]:
    with scratch.scratch_database(server_url, template) as url, psycopg.connect(url) as connection:
        yield connection


def test_there_are_cases_in_both_languages() -> None:
    read = rows("golden.tsv", 4)
    assert sum(row[0] != "-" for row in read) >= 130
    assert sum(row[1] != "-" for row in read) >= 200
    assert sum("-" not in row[:2] for row in read) >= 100


def test_values(connection: psycopg.Connection) -> None:
    assert connection.execute(VALUES, [json.dumps(golden())]).fetchall() == []


def test_conditions(connection: psycopg.Connection) -> None:
    assert connection.execute(VERDICTS, [json.dumps(golden())]).fetchall() == []


def test_refusals(connection: psycopg.Connection) -> None:
    cases = [{"source": s, "problem": p, "at": int(a)} for s, p, a in rows("refused.tsv", 3)]
    assert len(cases) >= 40
    assert connection.execute(REFUSALS, [json.dumps(cases)]).fetchall() == []


def test_the_check_can_fail(connection: psycopg.Connection) -> None:
    wrong = [{"source": "${1}", "variables": {}, "expected": "2"}]
    assert connection.execute(VALUES, [json.dumps(wrong)]).fetchall() != []

"""Random expressions: paths and trees, JUEL and FEEL say the same; no text and no value raises."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pgbpm.devtools import scratch

NIGHTLY = os.environ.get("PGBPM_TEST_SIZE") == "nightly"
SEED = int(os.environ.get("PGBPM_SEED", "20261130"))

NAMES = ["a", "b", "c.d", "c.e.f", "missing", "list", "secret", "secret.x"]
LITERALS = ["1", "0", "-2.5", "12345678901234567890", '"x"', '""', '"5"', "true", "false", "null"]
VALUES: list[Any] = [
    None, True, False, 0, 1, -2.5, 12345678901234567890, "", "x", "5", [], [1, "x"], {}, {"e": 1},
    {"d": "x", "e": {"f": 2}}, "__encrypted:abc", "2030-01-31", "P1D",
]  # fmt: skip
WORDS = [
    *NAMES, *LITERALS, "+", "-", "*", "/", "%", "**", "(", ")", "[", "]", "{", "}", "==", "=", "!=",
    "<", "<=", ">", ">=", "and", "or", "not", "!", "&&", "||", "?", ":", ",", ".", "..", "@", "in",
    "between", "if", "then", "else", "some", "every", "for", "satisfies", "return", "empty", "a in",
    "not(", "count(", "sum(", "min(", "list contains(", "contains(", "matches(", "starts with(",
    "date(", "time(", "date and time(", "duration(", "now()", "today()", "string(", "number(",
    "substring(", "sublist(", "index of(", "decimal(", "round(", "floor(", "append(", "reverse(",
    "string join(", "get or else(", "is defined(", "modulo(", ".size()", ".contains(", ".get(",
    ".plusDays(", ".matches('a+')", ".substring(", "[1]", "[-1]", "[item > 1]", '@"P1D"', "1e99",
    '@"2030-01-31"', '"2030-02-30"', '"P99999999D"', "999999999999999", "'", '"', "\\", "\u00e9",
]  # fmt: skip

AGREE = """
    select r.juel, r.feel, r.variables::text, j.problem, f.problem,
           j.verdict, j.walked, f.verdict, f.walked
      from json_to_recordset(%s) r (juel text, feel text, variables jsonb)
     cross join lateral (
       select c.problem, jsonb_path_match(r.variables, c.condition, '{}', true) as verdict,
              bpm_core.evaluate_condition(t.tree, r.variables) as walked
         from bpm_core.compile_condition(r.juel, null) c
        cross join bpm_core.read_expression(r.juel, null) t) j
     cross join lateral (
       select c.problem, jsonb_path_match(r.variables, c.condition, '{}', true) as verdict,
              bpm_core.evaluate_condition(t.tree, r.variables) as walked
         from bpm_core.compile_condition(r.feel, null) c
        cross join bpm_core.read_expression(r.feel, null) t) f
     where (j.problem is null) <> (f.problem is null)
        or (j.problem is null and (j.verdict, j.walked, f.walked)
              is distinct from (f.verdict, j.verdict, j.verdict))
"""
EVALUATE = """
    select c.problem is null as understood, c.problem is null and v.value is not null as decided
      from json_to_recordset(%s) r (source text, variables jsonb)
     cross join lateral bpm_core.compile_expression(r.source) c
     cross join lateral (select bpm_core.evaluate(c.tree, r.variables) as value) v
"""


@pytest.fixture(scope="module")
def connection(server_url: str, template: str) -> Iterator[psycopg.Connection]:
    with (
        scratch.scratch_database(server_url, template) as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        connection.execute("set statement_timeout = '60s'")
        yield connection


def variables(dice: random.Random) -> dict[str, Any]:
    return {
        name: dice.choice(VALUES)
        for name in ("a", "b", "c", "list", "secret")
        if dice.random() < 0.8
    }


def condition(dice: random.Random, depth: int) -> tuple[str, str]:
    """The same condition in JUEL and in FEEL; now and then one that is refused."""
    kind = dice.randrange(9) if depth else dice.randrange(5)
    if kind in (5, 6):
        parts = [condition(dice, depth - 1) for _ in range(dice.randint(2, 3))]
        word = dice.choice([("&&", "and"), ("||", "or")])
        juel, feel = (f" {word[i]} ".join(f"({p[i]})" for p in parts) for i in (0, 1))
        return juel, feel
    if kind in (7, 8):
        inner = condition(dice, depth - 1)
        return f"!({inner[0]})", f"not({inner[1]})"
    if kind == 4:
        name = dice.choice(NAMES)
        return (f"empty {name}", f"empty {name}") if dice.random() < 0.5 else (name, name)
    left, right = dice.choice(NAMES), dice.choice(NAMES + LITERALS + LITERALS)
    if dice.random() < 0.2:
        left, right = right, left
    sign = dice.choice(["==", "!=", "<", "<=", ">", ">="])
    return f"{left} {sign} {right}", f"{left} {'=' if sign == '==' else sign} {right}"


def test_paths_and_trees_and_both_languages_agree(connection: psycopg.Connection) -> None:
    dice = random.Random(SEED)
    rows = []
    for _ in range(20_000 if NIGHTLY else 1_000):
        juel, feel = condition(dice, 3)
        rows.append({"juel": "${" + juel + "}", "feel": "= " + feel, "variables": variables(dice)})
    assert connection.execute(AGREE, [json.dumps(rows)]).fetchall() == []


def test_nothing_raises(connection: psycopg.Connection) -> None:
    dice = random.Random(SEED)
    rows = []
    for _ in range(50_000 if NIGHTLY else 2_500):
        text = " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, 8)))
        if dice.random() < 0.5:
            text = text.replace("( ", "(") + ")" * max(0, text.count("(") - text.count(")"))
        text = f"= {text}" if dice.random() < 0.6 else "${" + text + "}"
        rows.append({"source": text, "variables": variables(dice)})
    answers = connection.execute(EVALUATE, [json.dumps(rows)]).fetchall()
    assert sum(understood for understood, _ in answers) > len(rows) / 50
    assert sum(decided for _, decided in answers) > len(rows) / 100


TYPED = [
    "= {0} + {1}", "= {0} - {1}", "= {0} * {1}", "= {0} / {1}", "= {0} ** {1}", "= -{0}",
    "= {0}[{1}]",
    "= count({0})", "= sum({0})", "= min({0}, {1})", "= max({0})", "= mean({0})", "= all({0})",
    "= list contains({0}, {1})", "= contains({0}, {1})", "= starts with({0}, {1})", "= {0} in {1}",
    "= matches({0}, \"x+\")", "= string length({0})", "= upper case({0})", "= trim({0})",
    "= substring({0}, {1})", "= substring({0}, {1}, {2})",
    "= string join({0}, {1})", "= string({0})",
    "= number({0})", "= append({0}, {1})", "= concatenate({0}, {1})", "= reverse({0})",
    "= distinct values({0})", "= index of({0}, {1})", "= sublist({0}, {1}, {2})", "= even({0})",
    "= get value({0}, {1})", "= get or else({0}, {1})", "= floor({0})", "= round({0}, {1})",
    "= decimal({0}, {1})", "= abs({0})", "= modulo({0}, {1})", "= date({0})", "= time({0})",
    "= date({0}, {1}, {2})", "= date and time({0})", "= date and time({0}, {1})", "= duration({0})",
    "= date({0}) + duration({1})", "= date({0}) - date({1})", "= duration({0}) * {1}",
    "= duration({0}) / {1}", "= date({0}).year", "= {0} < date({1})", "= now() + duration({0})",
    "= {0} in [{1}..{2}]", "= {0} between {1} and {2}", "= some x in {0} satisfies x > {1}",
    "= for x in {0} return x + {1}", "= for x in {0}..{1} return x", "= {0}[item = {1}]",
    "= {0}[e > {1}]", "= if {0} then {1} else {2}", "${{{0} % {1}}}", "${{{0}.size()}}",
    "${{{0}.isEmpty()}}", "${{{0}.contains({1})}}", "${{{0}.get({1})}}", "${{{0}[{1}]}}",
    "${{{0}.substring({1}, {2})}}", "${{{0}.equalsIgnoreCase({1})}}", "${{now().plusDays({0})}}",
    "${{now().minusYears({0}).isBefore({1})}}", "${{{0}.getOrDefault({1}, {2})}}", "x${{{0}}}y",
    "${{{0}.containsKey({1})}}", "${{{0} ? {1} : {2}}}", "${{{0}.plusMonths({1})}}",
]  # fmt: skip
EXTREMES: list[Any] = [
    *VALUES, 1e300, -1e300, 1e-250, 99999999999, -1, 2, 1.5, "1e99", "P9999999D", "-P1D", "P9999Y",
    "9999-12-31", "0001-01-01", "2030-01-31T23:59:60Z", "12:00:00", "x" * 20_000, [[1]], [None],
    "[",
    "2030-01-31T12:00:00+14:59", "__date:2030-01-31", "__date:never", {"item": 1}, [{"e": 5}, {}],
]  # fmt: skip


def test_no_value_raises(connection: psycopg.Connection) -> None:
    """Every function, over values of every kind: undecidable, perhaps, but an answer."""
    dice = random.Random(SEED)
    rows = []
    for form in TYPED:
        for _ in range(400 if NIGHTLY else 25):
            picked = {f"v{i}": dice.choice(EXTREMES) for i in range(3)}
            picked["v3"] = {f"w{i}": dice.choice(EXTREMES) for i in range(3)}
            names = ("v0", "v1", "v2") if dice.random() < 0.7 else ("v3.w0", "v3.w1", "v3.w2")
            rows.append({"source": form.format(*names), "variables": picked})
    answers = connection.execute(EVALUATE, [json.dumps(rows)]).fetchall()
    assert all(understood for understood, _ in answers)
    assert sum(decided for _, decided in answers) > len(rows) / 10

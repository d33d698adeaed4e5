"""The checked part of JSON Schema against the package jsonschema: random schemas and values."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import psycopg
import pytest

from pgbpm.devtools import scratch

NIGHTLY = os.environ.get("PGBPM_TEST_SIZE") == "nightly"
SEED = int(os.environ.get("PGBPM_SEED", "20261130"))
CASES = 40_000 if NIGHTLY else 1_500

NAMES = ["a", "b", "a/b", "~", "", "ä"]
SCALARS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 1.0, 1.5, -2.5, 10**20, 10**20 + 1, 1e30,
    "", "a", "b", "ab", "abc", "a1", "12", "a-b", "ä", "𝄞", "x\ny", "2026-11-30", "A-12",
]  # fmt: skip
PATTERNS = [
    "a", "^a$", "^[a-z]+$", "^[^a]", "^\\d+$", "\\w-\\w", "^(a|b)*$", "^a{1,2}b?$", "^$", "^.{2}$",
    "[.]", "\\.", "^(?:ab|c)+", "^[\\w-]+$", "^[A-Z]-\\d{2}$", "^\\d{4}-\\d{2}-\\d{2}$", "a.b", "",
]  # fmt: skip
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]

CHECK = """
    select r.n, p.problem,
           case when p.problem is null then bpm_core.schema_fault(r.schema, r.value) end
      from json_to_recordset(%s) r (n integer, schema jsonb, value jsonb)
     cross join lateral (select bpm_core.schema_problem(r.schema) as problem offset 0) p
     order by r.n
"""


@pytest.fixture(scope="module")
def conn(server_url: str, template: str) -> Iterator[psycopg.Connection[Any]]:
    with (
        scratch.scratch_database(server_url, template) as url,
        psycopg.connect(url, autocommit=True) as conn,
    ):
        conn.execute("set statement_timeout = '60s'")
        yield conn


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth > 3 or kind < 0.5:
        return rng.choice(SCALARS)
    if kind < 0.75:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(NAMES): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def keyword(rng: random.Random, depth: int) -> tuple[str, Any]:
    """One keyword with a value; at the depth's end none that holds schemas."""

    def inner() -> Any:
        return schema(rng, depth + 1)

    small = rng.randrange(4)
    number = rng.choice([0, 1, -1, 2, 1.5, 10**20])
    plain: list[tuple[str, Any]] = [
        ("type", rng.choice(TYPES)),
        ("type", rng.sample(TYPES, rng.randrange(1, 4))),
        ("enum", [value(rng, 2) for _ in range(rng.randrange(1, 5))]),
        ("const", value(rng, 2)),
        ("required", rng.sample(NAMES, rng.randrange(3))),
        ("minProperties", small),
        ("maxProperties", small),
        ("minItems", small),
        ("maxItems", small),
        ("uniqueItems", rng.random() < 0.8),
        ("minLength", small),
        ("maxLength", small),
        ("pattern", rng.choice(PATTERNS)),
        ("minimum", number),
        ("maximum", number),
        ("exclusiveMinimum", number),
        ("exclusiveMaximum", number),
        ("multipleOf", rng.choice([1, 2, 3, 0.5, 0.25])),
        ("title", "t"),
        ("default", 1),
    ]
    if depth == 3 or rng.random() < 0.5:
        return rng.choice(plain)
    holds_one = ["additionalProperties", "items", "not"]
    holds_many = ["prefixItems", "allOf", "anyOf", "oneOf"]
    name = rng.choice(["properties", *holds_one, *holds_many])
    if name == "properties":
        return name, {rng.choice(NAMES): inner() for _ in range(rng.randrange(1, 4))}
    if name in holds_many:
        return name, [inner() for _ in range(rng.randrange(1, 4))]
    return name, inner()


def schema(rng: random.Random, depth: int = 0) -> Any:
    if rng.random() < 0.08:
        return rng.random() < 0.7
    if depth and rng.random() < 0.1:
        # Only to what is defined before, or deeper into the value: no loops on the spot.
        return {"$ref": f"#/$defs/d{rng.randrange(2)}"}
    return dict(keyword(rng, depth) for _ in range(rng.randrange(1, 4)))


def document(rng: random.Random) -> Any:
    """A schema with two definitions, of which one refers to itself from inside the value."""
    root = schema(rng)
    if isinstance(root, dict):
        root["$defs"] = {
            "d0": {"type": rng.choice(TYPES), "title": "leaf"},
            "d1": {"properties": {"a": {"$ref": "#/$defs/d1"}}, "maxProperties": 2},
        }
    return root if isinstance(root, dict) or rng.random() < 0.1 else {}


def ask(conn: psycopg.Connection[Any], cases: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    sent = json.dumps([{"n": n, "schema": s, "value": v} for n, (s, v) in enumerate(cases)])
    return [(row[1], row[2]) for row in conn.execute(CHECK, [sent]).fetchall()]


def test_says_what_jsonschema_says(conn: psycopg.Connection[Any]) -> None:
    rng = random.Random(SEED)
    cases = [(document(rng), value(rng)) for _ in range(CASES)]
    met = 0
    for (wanted, seen), (problem, fault) in zip(cases, ask(conn, cases), strict=True):
        where = f"seed {SEED}: {json.dumps(wanted)} on {json.dumps(seen)}: {problem or fault}"
        assert problem is None, where
        expected = jsonschema.Draft202012Validator(wanted).is_valid(seen)
        assert (fault is None) == expected, where
        met += expected
    # Neither all nor none: the cases can tell a wrong check from a right one.
    assert 0.2 < met / len(cases) < 0.8


def test_hostile_schemas_and_values_raise_nothing(conn: psycopg.Connection[Any]) -> None:
    """Whatever stands where a schema should: a problem with a text, never an error."""
    rng = random.Random(SEED + 1)
    keys = [
        "type", "enum", "const", "properties", "required", "additionalProperties", "items", "not",
        "prefixItems", "allOf", "anyOf", "oneOf", "$ref", "$defs", "pattern", "minimum", "format",
        "multipleOf", "minLength", "uniqueItems", "$schema", "if", "patternProperties", "title",
    ]  # fmt: skip
    odd = ["#", "#/$defs/a", "#/$defs/", "[", "(", "a**", "\\", "(?=a)", "[[:x:]]", "x{999}", "{"]

    def anything(depth: int) -> Any:
        pick = rng.random()
        if depth > 3 or pick < 0.35:
            return rng.choice([*odd, *SCALARS, 1e300, -1e-300, "__encrypted:x"])
        if pick < 0.5:
            return [anything(depth + 1) for _ in range(rng.randrange(3))]
        return {rng.choice([*keys, "a"]): anything(depth + 1) for _ in range(rng.randrange(4))}

    cases = [(anything(0), anything(1)) for _ in range(CASES)]
    answers = ask(conn, cases)
    assert len(answers) == len(cases)
    assert all(problem is None or ": " in problem for problem, _ in answers)
    assert 0 < sum(problem is None for problem, _ in answers) < len(answers)

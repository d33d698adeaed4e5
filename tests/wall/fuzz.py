"""Every public function with what nobody should pass: nothing but answers and codes of class BP.

The other arguments are in order, from the attacker's own rows, so that the bad one is reached.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.wall.arguments import Function, Values, literal
from tests.wall.campaign import ALL, Campaign
from tests.wall.judge import DENIED, OK, Call, Outcome

_TEXTS = [
    "null", "''", "' '", "E'\\u0001'", "'%'", "E'''; drop table x; --'", "'NaN'",
    "'\u202e\ufeff\U0001f600'",
    "repeat('x', 200)", "repeat('x', 201)", "repeat('x', 301)", "repeat('\u00e4', 1000000)",
    "'__var:1:{'", "'__encrypted:x'", "'artifact://../../etc'", "'{}'", "E'a\\nb'",
    "'$.a ? (@ == 1)'",
    "repeat('(', 5000)", "'${' || repeat('a.', 2000) || 'a}'", "'bpm:user'", "'=1/0'", "'${1/0}'",
    "E'<a xmlns=\"x\"><b/>'", "'<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>'",
]  # fmt: skip
_UUIDS = [
    "null",
    "'00000000-0000-0000-0000-000000000000'",
    "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
]
_JSON = [
    "null", "'null'", "'[]'", "'{}'", "'\"x\"'", "'1e1000'", "'[null, 1, {}]'", "'[[[]]]'",
    "'true'",
    "'{\"a\": \"__var:1:{\"}'", "'{\"\": {\"\": null}}'", "'{\"__proto__\": 1, \"$x\": [1]}'",
    "'{\"a\": \"__encrypted:\"}'", "'{\"__encrypted:a\": 1}'", "'{\"a\\u0001b\": \"\\u0001\"}'",
    "'{\"a\": \"\\u0000\"}'", "(repeat('{\"a\":', 5000) || '1' || repeat('}', 5000))",
    "(select jsonb_agg('{}'::jsonb) from generate_series(1, 1001))",
    "(select jsonb_agg(g) from generate_series(1, 100000) g)",
    "(select jsonb_object_agg('k' || g, g) from generate_series(1, 20000) g)",
    "jsonb_build_object('a', repeat('x', 1000000))", "jsonb_build_array(repeat('x', 1000000))",
    "'{\"a\": 1e-1000, \"b\": 123456789012345678901234567890}'",
]  # fmt: skip
BAD: dict[str, list[str]] = {
    "pg_catalog.text": _TEXTS,
    "pg_catalog.uuid": _UUIDS,
    "pg_catalog.jsonb": _JSON,
    "pg_catalog.int4": ["null", "0", "'-1'", "2147483647", "'-2147483648'"],
    "pg_catalog.int8": ["null", "0", "'-1'", "9223372036854775807", "'-9223372036854775808'"],
    "pg_catalog.numeric": ["null", "'NaN'", "'Infinity'", "'-1'", "'1e1000'", "'1e-1000'"],
    "pg_catalog.bool": ["null", "true", "false"],
    "pg_catalog.interval": [
        "null", "'0'", "'-1 second'", "'178000000 years'", "'-178000000 years'", "'1 mon -30 days'",
        "'1 microsecond'",
    ],
    "pg_catalog.timestamptz": [
        "null", "'infinity'", "'-infinity'", "'4714-11-24 00:00:00+00 BC'",
        "'294276-12-31 23:59:59Z'",
        "'2100-01-01Z'",
    ],
    "pg_catalog.text[]": [
        "null", "'{}'", "'{null}'", "'{a,a}'", "array[repeat('x', 1000000)]", "'{{a,b},{c,d}}'",
        "array(select 'x' || g from generate_series(1, 100000) g)", "'{\"\"}'",
    ],
    "pg_catalog.uuid[]": [
        "null", "'{}'", "'{null}'",
        "array(select gen_random_uuid() from generate_series(1, 10000))",
    ],
}  # fmt: skip
"""What to pass for a type, as SQL."""
_INSIDE: list[Any] = [
    None, {}, [], "", "x" * 100_000, -1, 1e300, 10**30, True, "__encrypted:x", "\u0001", [[]],
    {"a": {"b": [1, None]}}, "infinity", "00000000-0000-0000-0000-000000000000", 0.5,
]  # fmt: skip
"""What to put in place of one value inside of JSON that is in order."""


def bad_values(campaign: Campaign, function: Function, parameter: str, good: Values) -> list[str]:
    """SQL of bad values for one parameter, its own with one part spoiled among them."""
    kind = dict(zip(function.parameters, function.types, strict=True))[parameter]
    if kind not in BAD:
        raise LookupError(f"tell the wall (tests/wall/fuzz.py) what is bad for a {kind}")
    found = list(BAD[kind])
    if kind == "pg_catalog.uuid":  # ids of ours, of another kind
        found += [literal(i) for i in sorted(campaign.attacker.ids)[:3]]
    if kind == "pg_catalog.jsonb" and parameter in good:
        own = json.loads(good[parameter].removeprefix("E")[1:-1].replace("''", "'"))
        found += [literal(text) for text in _spoiled(own)]
    return found


def _spoiled(value: Any) -> Iterator[str]:
    """The value with each of its parts replaced, one at a time; then with a key too many."""
    if not isinstance(value, (dict, list)):
        return
    parts = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, part in parts:
        for bad in _INSIDE:
            copy = json.loads(json.dumps(value))
            copy[key] = bad
            yield json.dumps(copy)
        if isinstance(part, (dict, list)):
            for inner in _spoiled(part):
                copy = json.loads(json.dumps(value))
                copy[key] = json.loads(inner)
                yield json.dumps(copy)
    if isinstance(value, dict):
        yield json.dumps({**value, "unheard of": 1})


def calls(campaign: Campaign, each: int | None, seed: int = 4) -> list[Call]:
    """Calls with one bad argument; ``each``: so many per parameter, drawn; None: all."""
    draw = random.Random(seed)
    made = []
    tenant = campaign.attacker.name
    for function in campaign.functions:
        cases = campaign.own_cases(function)
        for parameter in function.parameters:
            if parameter == "p_tenant_id":
                continue
            good = next((case for case in cases if parameter in case), cases[0])
            values = bad_values(campaign, function, parameter, good)
            if each is not None and len(values) > each:
                values = draw.sample(values, each)
            for value in values:
                text = function.call({**good, parameter: value}, tenant)
                made.append(Call("fuzz", function.name, ALL, tenant, text))
    return made


def run(campaign: Campaign, each: int | None) -> int:
    """Make the calls; findings go to the campaign's. Returns how many were made."""
    made = campaign.make(calls(campaign, each))
    for call, outcome in made:
        if not _may(outcome):
            campaign.findings.odd(call, outcome, "a code from inside of the function")
        if outcome.code == OK and outcome.touched and _only_refused(outcome):
            campaign.findings.odd(call, outcome, "refused, and wrote all the same")
    return len(made)


def _may(outcome: Outcome) -> bool:
    if outcome.code == OK or outcome.code.startswith("BP"):
        return True
    inside = "function bpm" in (outcome.context or "") or "bpm_core." in (outcome.context or "")
    return outcome.code != DENIED and not inside


def _only_refused(outcome: Outcome) -> bool:
    rows = (outcome.answer or "").splitlines()
    return bool(rows) and all("NotFound" in row or "Rejected" in row for row in rows)

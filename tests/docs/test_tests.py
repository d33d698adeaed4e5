"""docs/reference/tests.md: every element has a row, every test it names is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.docs.blocks import CHECKOUT
from tests.docs.test_elements import ROWS as ELEMENTS

PAGE = CHECKOUT / "docs" / "reference" / "tests.md"
_PGTAP = re.compile(r'`(?P<file>pgtap/[^`]+\.sql)` "(?P<word>[^"]+)"')
_PYTEST = re.compile(r"`(?P<file>[^`]+\.py)::(?P<function>test_\w+)`")
# Not of this kind of test: retention and who owns a task, which are no matter of the flow.
_ELSEWHERE = {"C27", "C28"}


def _rows(heading: str) -> Iterator[list[str]]:
    """The cells of the rows of one table."""
    part = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("| ")]
    for line in rows[1:]:
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


@cache
def _functions(file: str) -> set[str]:
    tree = ast.parse((CHECKOUT / "tests" / file).read_text(encoding="utf-8"))
    return {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def _missing(tests: str) -> list[str]:
    """What of the tests named in a cell is not there."""
    missing = []
    for found in _PGTAP.finditer(tests):
        path = CHECKOUT / "tests" / found["file"]
        if not path.is_file() or found["word"] not in path.read_text(encoding="utf-8"):
            missing.append(found[0])
    for found in _PYTEST.finditer(tests):
        path = CHECKOUT / "tests" / found["file"]
        if not path.is_file() or found["function"] not in _functions(found["file"]):
            missing.append(found[0])
    return missing


TABLES = [
    (row[0], row[-1])
    for part in ("Elements", "Cases that hurt", "Accidents", "Tenants apart", "What comes in")
    for row in _rows(part)
]


@pytest.mark.parametrize(("row", "tests"), TABLES, ids=[row for row, _ in TABLES])
def test_every_test_that_is_named_is_there(row: str, tests: str) -> None:
    named = [name for pattern in (_PGTAP, _PYTEST) for name in pattern.findall(tests)]
    assert len(named) == len(tests.split("; ")), f"{row}: {tests} is not understood"
    assert not _missing(tests)


def test_the_tests_named_beside_the_tables_are_there() -> None:
    prose = "\n".join(
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] != "|"
    )
    assert _PYTEST.search(prose)
    assert not _missing(prose)


def test_every_element_has_its_row() -> None:
    assert [row[0] for row in _rows("Elements")] == [element for element, _ in ELEMENTS]


def test_every_case_has_its_row() -> None:
    cases = {f"C{n:02}" for n in range(1, 36)} - _ELSEWHERE
    assert [row[0] for row in _rows("Cases that hurt")] == sorted(cases)


def test_what_is_missing_is_noticed() -> None:
    assert _missing('`pgtap/40_flow/nothing.sql` "x"')
    assert _missing('`pgtap/40_flow/tick.sql` "no such words in it"')
    assert _missing("`races/test_joins.py::test_nothing`")
    assert _missing("`races/test_nothing.py::test_nothing`")

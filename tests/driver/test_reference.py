"""The reference of functions is written from the contracts, and every public function has one."""

from __future__ import annotations

import pytest

from pgbpm.devtools import reference
from pgbpm.resources import sql_dir

FUNCTIONS = list(reference.functions(sql_dir()))


def test_the_page_is_what_the_contracts_say() -> None:
    page = reference.target(sql_dir())
    assert page.read_text(encoding="utf-8") == reference.page(sql_dir()), "run: make reference"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_every_public_function_says_what_it_returns(function: reference.Function) -> None:
    assert function.contract, "a contract stands on top of the file"
    assert "Returns:" in function.contract


def test_there_are_functions() -> None:
    assert len(FUNCTIONS) > 30

"""The reference names every code, setting, option and command there is, and none besides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import pgbpm.errors
from pgbpm.resources import sql_dir
from tests.docs import generated
from tests.docs.blocks import CHECKOUT

ERRORS = (CHECKOUT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
CONFIGURATION = (CHECKOUT / "docs" / "reference" / "configuration.md").read_text("utf-8")
CLI = (CHECKOUT / "docs" / "reference" / "cli.md").read_text("utf-8")
_CAMEL = re.compile(r"'([A-Z][a-z]+(?:[A-Z][a-z]+)+)'")
_OPENS_INCIDENTS = re.compile(
    r"::bpm_core\.trouble|insert into bpm_core\.incident|bury_tasks\(|judge_delivery"
    r"|::bpm_core\.command_move\]|function bpm_core\.judge_start"
)


def _sources() -> Iterator[tuple[Path, str]]:
    """The functions of the engine without their comments."""
    for file in sorted(sql_dir().rglob("*.sql")):
        if not file.parent.name.startswith("95_") and file.name != "tables.sql":
            yield file, re.sub(r"--.*", "", file.read_text(encoding="utf-8"))


def _section(title: str) -> str:
    """One section of the page about errors."""
    return ERRORS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def _first_cells(text: str) -> list[str]:
    """What stands in code marks in the first cell of each row of its tables."""
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def test_codes_of_errors() -> None:
    raised = {code for _, text in _sources() for code in re.findall(r"'(BP\d{3})'", text)}
    assert len(raised) > 5
    assert sorted(raised) == _first_cells(_section("Codes"))


def test_codes_of_the_driver_are_among_them() -> None:
    kinds = [
        kind
        for kind in vars(pgbpm.errors).values()
        if isinstance(kind, type) and issubclass(kind, pgbpm.errors.PgbpmError)
    ]
    named = set(re.findall(r"`(BP\d{3})`", ERRORS.partition("The driver uses")[2].split(".")[0]))
    assert {kind.code for kind in kinds} == named


def test_exit_codes() -> None:
    doc = pgbpm.errors.__doc__ or ""
    in_code = [int(code) for code in re.findall(r"^(\d+) ", doc, re.M)]
    in_page = [int(code) for code in re.findall(r"^\| (\d+) \|", CLI, re.M)]
    assert in_page == in_code


def test_outcomes(conn: psycopg.Connection[dict[str, Any]]) -> None:
    rows = conn.execute("select unnest(enum_range(null::bpm.outcome))::text as name").fetchall()
    assert {row["name"] for row in rows} == set(_first_cells(_section("Outcomes")))


def test_codes_of_incidents(conn: psycopg.Connection[dict[str, Any]]) -> None:
    labels = {row["enumlabel"] for row in conn.execute("select enumlabel from pg_enum")}
    # What receivers report, the name of an audited action, and a kind of target.
    others = {
        "AlreadyDone", "InProgress", "NotSent", "ReceiverError", "ReconcileCommand",
        "WorkflowInstance",
    }  # fmt: skip
    opened: set[str] = set()
    for _, text in _sources():
        if _OPENS_INCIDENTS.search(text):
            opened |= set(_CAMEL.findall(text)) - labels - others
    assert opened == set(_first_cells(_section("Incidents")))


def test_faults_and_warnings_of_files() -> None:
    found: dict[str, set[str]] = {"fault": set(), "warning": set()}
    for file, text in _sources():
        for severity, code in re.findall(r"bpm_core\.(fault|warning)\(\s*'(\w+)'", text):
            found[severity].add(code)
        if file.name == "find_ignored.sql":  # faults only when strict
            found["warning"] |= {
                code for code in _CAMEL.findall(text) if re.search("Ignored$|NotSent$", code)
            }
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", _section("Faults and warnings of a file"), re.M)
    listed = {severity: [code for code, said in rows if said == severity] for severity in found}
    # As lists: each code has one row.
    assert {k: sorted(v) for k, v in listed.items()} == {k: sorted(v) for k, v in found.items()}


def test_settings(conn: psycopg.Connection[dict[str, Any]]) -> None:
    text = (sql_dir() / "00_foundation" / "setting_fault.sql").read_text(encoding="utf-8")
    known = re.findall(r"\('([a-z_.]+)', (null|\d+)(?:::bigint)?, (null|\d+)", text)
    assert len(known) > 3
    table = CONFIGURATION.partition("## Engine settings")[2]
    assert {name for name, _, _ in known} == set(_first_cells(table))
    for name, lowest, highest in known:
        row = next(line for line in table.splitlines() if line.startswith(f"| `{name}`"))
        assert lowest == "null" or f"| {lowest} to {highest} |" in row
    for _, source in _sources():
        for name, default in re.findall(r"setting_value\('([a-z_.]+)', '([^']*)'\)", source):
            row = next(line for line in table.splitlines() if line.startswith(f"| `{name}`"))
            assert row.split(" | ")[2].strip("`") == default


@pytest.mark.parametrize("page", generated.PAGES, ids=lambda page: page.name)
def test_generated_parts(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == generated.with_parts(page), (
        "run: python -m tests.docs.generated"
    )


def test_errors_say_what_is_there() -> None:
    """No page names a public function, view or code that does not exist."""
    functions = {
        name
        for file in sql_dir().rglob("*.sql")
        for name in re.findall(
            r"create (?:or replace )?(?:function|view|type|table) bpm\.(\w+)",
            file.read_text(encoding="utf-8"),
        )
    } | {"schema_migration", "trace_id"}
    codes = set(_first_cells(_section("Codes")))
    for page in [CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        called = set(re.findall(r"\bbpm\.(\w+)", text)) - {"example", "maintain_", "sql"}
        assert called <= functions, f"{page.name}: {called - functions}"
        assert set(re.findall(r"\bBP\d{3}\b", text)) <= codes, page.name

"""Fixtures for all tests: one server, one template, one database per module, the audit after each.

* ``database`` (module): an isolated database with the schema and the test kit; see
  :class:`support.TestDatabase`.
* ``conn`` (test): an autocommit connection to it, rows as dicts.
* ``fresh_database`` (test): an isolated database for this test alone.
* ``empty_database`` (test): a database without any schema of ours.
* ``server_url`` (session): a superuser on the test server.

After every test that uses ``database`` or ``fresh_database`` the engine's own audit
(``bpm.check_invariants``) runs for every tenant and fails the test on any row. A test that breaks
an invariant on purpose says so: ``@pytest.mark.breaks_invariants``.

Each ``tests/pgtap/**/*.sql`` is one test as well: ``pytest tests/test_pgtap.py -k claim_tasks``.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pgbpm.devtools import scratch
from tests.support import database as support
from tests.support import schedule
from tests.support.database import TestDatabase
from tests.support.memory import use_memory
from tests.support.pgtap import PgTapSource

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whoever starts the tests in the background of a script has this signal ignored, and so would
    # the programs that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    use_memory()
    config.addinivalue_line("markers", "breaks_invariants: this test leaves a broken engine behind")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return schedule.LongestFirst(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        schedule.order(items)


def pytest_report_header() -> list[str]:
    lines = [f"server: {support.describe_server()}", f"pgTAP: {PgTapSource.find().describe()}"]
    if support.stale_migrations():
        lines.append("NOTE: migrations/ lag behind sql/ (make baseline); tests run on sql/")
    return lines


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """Connection string of a superuser on the server all tests share."""
    with scratch.scratch_server() as url:
        yield url


@pytest.fixture(scope="session")
def template(server_url: str) -> Iterator[str]:
    """Name of the database that all others are copied from."""
    url = support.make_template(server_url)
    yield scratch.database_name(url)
    scratch.drop_database(server_url, url)


@pytest.fixture(scope="module")
def database(server_url: str, template: str) -> Iterator[TestDatabase]:
    """The isolated database of this module."""
    with scratch.scratch_database(server_url, template) as url:
        isolated = TestDatabase(url)
        yield isolated
        isolated.close()


@pytest.fixture
def fresh_database(server_url: str, template: str) -> Iterator[TestDatabase]:
    """An isolated database of this test alone."""
    with scratch.scratch_database(server_url, template) as url:
        isolated = TestDatabase(url)
        yield isolated
        isolated.close()


@pytest.fixture
def empty_database(server_url: str) -> Iterator[str]:
    """Connection string of an empty database."""
    with scratch.scratch_database(server_url) as url:
        yield url


@pytest.fixture
def conn(database: TestDatabase) -> Iterator[psycopg.Connection[dict[str, object]]]:
    """An autocommit connection to the module's database."""
    with database.connect() as connection:
        yield connection


@pytest.fixture(autouse=True)
def _audit(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the engine's audit after the test in every database it used."""
    used = [
        request.getfixturevalue(name)
        for name in ("database", "fresh_database")
        if name in request.fixturenames
    ]
    yield
    if request.node.get_closest_marker("breaks_invariants") is None:
        for one in used:
            one.audit()

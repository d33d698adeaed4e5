"""Runs every file of tests/pgtap: ``pytest tests/test_pgtap.py -k claim_tasks`` runs one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgbpm.devtools import scratch
from tests.support import pgtap

FILES = pgtap.files()


@pytest.fixture(scope="session")
def pgtap_database(server_url: str, template: str) -> Iterator[str]:
    """A copy of the template with pgTAP and the shared helpers; every file rolls back in it."""
    tap = pgtap.PgTapSource.find()
    if tap.file is None:
        message = f"pgTAP {tap.describe()}"
        if pgtap.REQUIRED:
            pytest.fail(message)
        pytest.skip(message)
    with scratch.scratch_database(server_url, template) as url:
        pgtap.prepare(url, tap)
        yield url


@pytest.mark.parametrize("file", FILES, ids=[str(f.relative_to(pgtap.TESTS)) for f in FILES])
def test_pgtap(file: Path, pgtap_database: str) -> None:
    pgtap.run_file(file, pgtap_database)
    pgtap.shrink(pgtap_database)


def test_there_are_pgtap_files() -> None:
    assert FILES, "tests/pgtap holds no file: a run of nothing is no success"

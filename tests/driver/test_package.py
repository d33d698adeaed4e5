"""The wheel carries its SQL: nothing else is needed at run time."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pgbpm import migrations
from pgbpm.resources import sql_dir

CHECKOUT = sql_dir().parent


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of a freshly built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_sql_and_nothing_of_the_tests(unpacked: Path) -> None:
    names = {str(file.relative_to(unpacked)) for file in unpacked.rglob("*") if file.is_file()}
    for migration in migrations.load():
        assert f"pgbpm/_data/migrations/{migration.name}.sql" in names
    assert "pgbpm/_data/sql/90_access/roles.sql" in names
    assert "pgbpm/catalog.sql" in names
    assert "pgbpm/py.typed" in names
    assert not [n for n in names if n.startswith(("tests", "benchmarks", "docs"))]
    assert not [n for n in names if "testkit" in n]


def test_the_package_works_away_from_the_checkout(unpacked: Path, tmp_path: Path) -> None:
    script = (
        "import pgbpm, sys; from pgbpm import migrations;"
        "print(pgbpm.__file__); sys.stdout.write(migrations.bundle())"
    )
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    place, _, bundle = done.stdout.partition("\n")
    assert place.startswith(str(unpacked))
    assert bundle == migrations.bundle()

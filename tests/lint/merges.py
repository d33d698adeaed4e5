"""What a merge left undone: its markers are in no file, documents included."""

from __future__ import annotations

import re
from pathlib import Path

PLACES = (
    "benchmarks", "docker", "docs", "migrations", "python_driver", "requirements", "scripts", "sql",
    "tests", "CHANGELOG.md", "Makefile", "README.md", "pyproject.toml",
)  # fmt: skip
_MARKER = re.compile(rb"(?:<{7}|>{7}) .*")


def check(path: Path) -> list[str]:
    """One finding per marker."""
    return [
        f"{path}:{number}: a merge left {line.decode()}"
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        if _MARKER.fullmatch(line)
    ]


def check_tree(root: Path) -> list[str]:
    """The findings of every file of the project."""
    files = [file for place in PLACES for file in _files(root / place)]
    return [finding for file in sorted(files) for finding in check(file)]


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [f for f in place.rglob("*") if f.is_file() and "__pycache__" not in f.parts]

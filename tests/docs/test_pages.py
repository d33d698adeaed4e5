"""Every command of every page, in order."""

from __future__ import annotations

import tempfile
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pgbpm import config
from tests.docs.blocks import CHECKOUT, Block, blocks, pages
from tests.docs.reader import Reader, desk, has_commands, to_do


def _name(value: object) -> str:
    return str(value.relative_to(CHECKOUT)) if isinstance(value, Path) else ""


RUNNABLE = [page for page in pages() if has_commands(page)]


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_blocks_are_what_they_say(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python":
            compile(block.text, block.where, "exec")
        elif block.language == "toml":
            _check_toml(block)
        elif block.language == "xml" and "file" in block.marks:
            ET.fromstring(block.text)
        if "skip" in block.marks:
            assert len(block.marks["skip"]) > 5, f"{block.where}: why is it not run?"


def _check_toml(block: Block) -> None:
    tomllib.loads(block.text)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pgbpm.toml"
        file.write_text(block.text, encoding="utf-8")
        config.load(file, {})


def test_there_are_pages_to_run() -> None:
    assert {"README.md", "docs/tour.md"} <= {_name(page) for page in RUNNABLE}


@pytest.mark.parametrize("page", RUNNABLE, ids=_name)
def test_everything_works_as_written(page: Path) -> None:
    with desk() as place:
        Reader(place).read(to_do(page))
        assert place.audit() == []

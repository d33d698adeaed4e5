"""Large values by reference: kept, fetched, checked, and never another tenant's."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.driver.runner_kit import deploy, linear, run_until_idle, start, statuses
from tests.driver.test_cli_commands import Cli
from tests.driver.test_cli_commands import cli as cli
from tests.support.database import TestDatabase

from pgbpm import artifacts as module
from pgbpm.artifacts import ArtifactError, Artifacts, FileStore, Reference
from pgbpm.config import ArtifactsConfig
from pgbpm.errors import ConfigError
from pgbpm.worker import Task, Worker

SHA = "a" * 64


def stores(folder: Path) -> Artifacts:
    return Artifacts(ArtifactsConfig((f"files=file:{folder}", f"others=file:{folder}/other")))


def test_what_was_put_comes_back(tmp_path: Path) -> None:
    kept = stores(tmp_path)
    for data in (b"", b"x" * 300_000, bytes(range(256))):
        for tenant in ("", "acme", "a/../b", "số"):
            text = kept.put(tenant, data)
            assert kept.get(tenant, text) == data
            assert kept.put(tenant, data) == text
            assert text.endswith(f"#sha256={hashlib.sha256(data).hexdigest()}")
    assert kept.put("", b"x", "others").startswith("artifact://others/t-/")
    assert not [file for file in tmp_path.rglob("*") if file.name.startswith("tmp")]


def test_what_was_changed_or_lost_is_noticed(tmp_path: Path) -> None:
    kept = stores(tmp_path)
    text = kept.put("acme", b"contract")
    (file,) = [file for file in tmp_path.rglob("*") if file.is_file()]
    file.write_bytes(b"contracT")
    with pytest.raises(ArtifactError, match="is not what was put there"):
        kept.get("acme", text)
    file.unlink()
    with pytest.raises(ArtifactError, match=r"there is no artifact artifact://files/t-acme/"):
        kept.get("acme", text)


def test_another_tenants_artifacts_are_out_of_reach(tmp_path: Path) -> None:
    kept = stores(tmp_path)
    for owner, other in (("acme", ""), ("acme", "acm"), ("acme", "acme2"), ("", "acme")):
        with pytest.raises(ArtifactError, match="not one of this tenant"):
            kept.get(other, kept.put(owner, b"x"))
    for path in ("t-other/../t-acme/x", "../x", "/etc/passwd", "t-other//x", "./x", "t-other/./x"):
        with pytest.raises(ArtifactError):
            kept.get("other", f"artifact://files/{path}#sha256={SHA}")
        if path[0] != "t":
            with pytest.raises(ArtifactError):
                FileStore(str(tmp_path)).get(path)


@given(st.text(max_size=80))
def test_any_text_is_a_reference_or_refused(tail: str) -> None:
    for text in (tail, f"artifact://{tail}", f"artifact://s/{tail}#sha256={SHA}"):
        try:
            found = Reference.of(text)
        except ArtifactError as error:
            assert "no reference to an artifact" in error.message  # noqa: PT017
        else:
            assert str(found) == text
            assert ".." not in found.path.split("/")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("files", "not NAME=KIND:ADDRESS"), ("files=/tmp", "not NAME=KIND:ADDRESS"),
        ("Files=file:/tmp", "not NAME=KIND:ADDRESS"), ("files=file:", "not NAME=KIND:ADDRESS"),
        ("files=s3:bucket", "no kind of store 's3'"),
    ],
)  # fmt: skip
def test_stores_that_are_refused(entry: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Artifacts(ArtifactsConfig((entry,))).put("", b"x")


def test_other_kinds_come_as_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    class Memory:
        def __init__(self, address: str) -> None:
            self.kept = {f"opened {address}": b""}

        def put(self, path: str, data: bytes) -> None:
            self.kept[path] = data

        def get(self, path: str) -> bytes:
            if path not in self.kept:
                raise FileNotFoundError
            return self.kept[path]

    class Point:
        def load(self) -> Any:
            return Memory

    def points(*, group: str, name: str) -> list[Point]:
        return [Point()] if (group, name) == ("pgbpm.artifact_stores", "memory") else []

    monkeypatch.setattr(module, "entry_points", points)
    kept = Artifacts(ArtifactsConfig(("mem=memory:here",)))
    assert kept.get("", kept.put("", b"x")) == b"x"
    with pytest.raises(ArtifactError, match="there is no artifact"):
        kept.get("", f"artifact://mem/t-/x#sha256={SHA}")


def test_handlers_put_and_get(database: TestDatabase, tmp_path: Path) -> None:
    deploy(database, linear("scanned", "scan", "read"))
    start(database, "scanned")
    worker = Worker()
    seen: list[bytes] = []

    @worker.task("scan")
    def scan(task: Task) -> dict[str, Any]:
        return {"scan": task.artifacts.put(b"page " * 100_000)}

    @worker.task("read")
    async def read(task: Task) -> None:
        seen.append(task.artifacts.get(task.variables["scan"]))

    run_until_idle(database, worker, artifacts=ArtifactsConfig(stores=(f"files=file:{tmp_path}",)))
    assert statuses(database, "scanned") == {"Completed": 1}
    assert seen == [b"page " * 100_000]
    text = database.value("select i.variables ->> 'scan' from bpm.instance i")
    assert text.startswith("artifact://files/t-/")


def test_put_and_get_by_hand(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = tmp_path / "paper"
    paper.write_bytes(b"\0paper")
    assert "there is no artifact store" in cli("artifact", "put", paper, code=2).stderr
    monkeypatch.setenv("BPM__ARTIFACTS__STORES", f"files=file:{tmp_path}/kept")
    text = cli.text("artifact", "put", paper).strip()
    cli("artifact", "get", text, "-o", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"\0paper"
    assert cli("artifact", "get", text).stdout_bytes == b"\0paper"
    told = cli("--tenant", "acme", "artifact", "get", text, code=1).stderr
    assert "not one of this tenant" in told
    assert "(there: files)" in cli("artifact", "put", paper, "--store", "x", code=2).stderr

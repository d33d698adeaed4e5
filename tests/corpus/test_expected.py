"""End states as the diagrams show them: ``expected.toml``, written from the drawings alone."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pgbpm.cli.values import read_bpmn
from pgbpm.devtools import scratch
from tests.corpus import drawing as drawings
from tests.corpus.engine import Engine, Row
from tests.corpus.play import Play, Run
from tests.corpus.report import Corpus, deploy, prepare
from tests.corpus.script import Case, Script
from tests.corpus.test_corpus import FOREIGN, FOREIGN_FILES, NOT_YET, OWN, OWN_FILES

FILES = {file.name: file for file in [*FOREIGN_FILES, *OWN_FILES]}
CASES = [
    Case(**case)
    for case in tomllib.loads((Path(__file__).parent / "expected.toml").read_text("utf-8"))["case"]
]


@dataclass(slots=True)
class Scene:
    """One file, deployed by one tenant."""

    engine: Engine
    drawing: drawings.Drawing
    processes: list[str]
    faults: list[Row]


@dataclass(slots=True)
class Stage:
    """A database for all cases; the cases of one file share a tenant."""

    url: str
    scenes: dict[str, Scene] = field(default_factory=dict)

    def scene(self, file: Path) -> Scene:
        """The file's scene, set up when it is asked for first."""
        if file.name not in self.scenes:
            engine = Engine(self.url, tenant=f"scene-{len(self.scenes)}")
            text = read_bpmn(file)
            drawing = drawings.read(text)
            findings = engine.call("check_bpmn", xml=text)
            faults = [row for row in findings if row["severity"] == "fault"]
            processes = [] if faults else deploy(engine, text, [])
            if processes:
                prepare(engine, drawing, findings, processes, Corpus.of(file.parent))
            self.scenes[file.name] = Scene(engine, drawing, processes, faults)
        return self.scenes[file.name]


@pytest.fixture(scope="module")
def stage(server_url: str, template: str) -> Iterator[Stage]:
    """The stage of all cases."""
    with scratch.scratch_database(server_url, template) as url:
        made = Stage(url)
        yield made
        for scene in made.scenes.values():
            scene.engine.close()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case, stage: Stage) -> None:
    """The inputs lead to these end events and this status, and to no others."""
    if case.file not in FILES:
        pytest.skip(f"{case.file} is not here (corpus: {FOREIGN}, set PGBPM_CORPUS)")
    scene = stage.scene(FILES[case.file])
    if {row["code"] for row in scene.faults} & NOT_YET:
        pytest.skip(f"not executed yet: {sorted({row['message'] for row in scene.faults})}")
    assert not scene.faults
    nodes = scene.drawing.nodes
    assert case.named <= nodes.keys(), case.named - nodes.keys()
    play = Play(scene.engine, scene.drawing)
    try:
        start = nodes[case.start] if case.start else None
        process = case.process or scene.processes[0]
        run = play.run(process, start, Script(case, scene.drawing))
        assert scene.engine.differences(run.instance) == []
        compare(case, run, scene.drawing)
    finally:
        play.clear("the case is over")


def test_the_audit_finds_nothing(stage: Stage) -> None:
    """After all cases: the invariants of every tenant."""
    for name, scene in stage.scenes.items():
        assert scene.engine.violations() == [], name


def compare(case: Case, run: Run, drawing: drawings.Drawing) -> None:
    """What happened against what the case says."""
    ends = {n.id for n in drawing.of(run.process) if n.tag == "endEvent"}
    assert (run.status, run.tokens_at(ends)) == (case.status, sorted(case.ends)), run
    assert run.incidents == case.incidents, run
    assert set(case.passes) <= run.visited, set(case.passes) - run.visited
    assert not set(case.never) & run.visited, set(case.never) & run.visited


def test_every_own_file_has_a_case() -> None:
    """What we draw ourselves is described."""
    described = {case.file for case in CASES}
    assert {file.name for file in OWN_FILES} <= described, OWN

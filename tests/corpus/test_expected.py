"""End states as the diagrams show them: ``expected.toml``, written from the drawings alone."""

from __future__ import annotations

import os
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
from tests.corpus.test_corpus import FOREIGN, FOREIGN_FILES, OWN, OWN_FILES

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
            findings = engine.call("check_bpmn", xml=text)
            faults = [row for row in findings if row["severity"] == "fault"]
            processes = [] if faults else deploy(engine, text, [])
            drawing = drawings.read(text) if processes else drawings.Drawing()
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
    assert run.order_of(set(case.order)) == case.order


REFUSED = {
    "bad-operaton-invalid-token.bpmn": {"InvalidXml"},
    "bad-operaton-xxe.bpmn": {"InvalidXml"},
    # A complex gateway, a cancel event on a plain task, events that do not say which message.
    "bpmnjs-kitchen-sink-events.bpmn": {"UnsupportedElement", "UnknownReference", "NoEndEvent"},
    # Calls a method of a Java object: droolsCountry.isHighRisk().
    "camunda7-counterparty-onboarding-four-eyes.bpmn": {"InvalidCondition"},
    # Two flows out of a choice, neither with a condition; only one of them is the default.
    "f4a-lanes-reservations.bpmn": {"ExclusiveGatewayNoDefault"},
    "miwg-A.2.1-conditions-prefix-model.bpmn": {"ExclusiveGatewayNoDefault"},
    "flowable-adhoc-subprocess.bpmn": {"UnsupportedElement"},
    # Drawn to show every element: events without message, signal, time or condition.
    "miwg-B.2.0-all-elements.bpmn": {"UnknownReference", "InvalidTimer", "InvalidCondition"},
    "miwg-C.6.0-travel-compensation.bpmn": {"UnknownReference", "InvalidTimer"},
    "miwg-innovator-eventDefinitionRef.bpmn": {"UnknownReference", "InvalidTimer"},
}
"""Files of the corpus that cannot run, and why."""


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, stage: Stage) -> None:
    """These are refused, for these reasons among others."""
    if name not in FILES:
        pytest.skip(f"{name} is not here (corpus: {FOREIGN}, set PGBPM_CORPUS)")
    assert REFUSED[name] <= {row["code"] for row in stage.scene(FILES[name]).faults}


@pytest.mark.skipif("PGBPM_CORPUS" in os.environ or not FOREIGN_FILES, reason="another corpus")
def test_every_file_of_the_corpus_is_described() -> None:
    """Each has a case, or a reason why it is refused."""
    described = {case.file for case in CASES}
    assert {file.name for file in FOREIGN_FILES} <= described | REFUSED.keys()
    assert not described & REFUSED.keys()


def test_every_own_file_has_a_case() -> None:
    """What we draw ourselves is described."""
    described = {case.file for case in CASES}
    assert {file.name for file in OWN_FILES} <= described, OWN

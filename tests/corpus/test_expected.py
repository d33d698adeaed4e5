"""End states as the diagrams show them: ``expected.toml``, written from the drawings alone."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgbpm.cli.values import read_bpmn
from pgbpm.devtools import scratch
from tests.corpus import drawing as drawings
from tests.corpus.engine import Engine
from tests.corpus.play import Play, Run
from tests.corpus.report import Corpus, audit, deploy, prepare
from tests.corpus.script import Case, Script
from tests.corpus.test_corpus import FOREIGN, FOREIGN_FILES, NOT_YET, OWN, OWN_FILES

FILES = {file.name: file for file in [*FOREIGN_FILES, *OWN_FILES]}
CASES = [
    Case(**case)
    for case in tomllib.loads((Path(__file__).parent / "expected.toml").read_text("utf-8"))["case"]
]


@pytest.fixture(scope="module")
def stage(server_url: str, template: str) -> Iterator[str]:
    """A database for all cases, each of which gets a tenant."""
    with scratch.scratch_database(server_url, template) as url:
        yield url


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case, stage: str) -> None:
    """The inputs lead to these end events and this status, and to no others."""
    if case.file not in FILES:
        pytest.skip(f"{case.file} is not here (corpus: {FOREIGN}, set PGBPM_CORPUS)")
    file = FILES[case.file]
    engine = Engine(stage, tenant=f"case-{CASES.index(case)}")
    text = read_bpmn(file)
    findings = engine.call("check_bpmn", xml=text)
    faults = [row for row in findings if row["severity"] == "fault"]
    if {row["code"] for row in faults} & NOT_YET:
        pytest.skip(f"not executed yet: {sorted({row['message'] for row in faults})}")
    assert not faults, faults
    processes = deploy(engine, text, [])
    drawing = drawings.read(text)
    assert case.named <= drawing.nodes.keys(), case.named - drawing.nodes.keys()
    prepare(engine, drawing, findings, processes, Corpus.of(file.parent))
    process = case.process or processes[0]
    start = drawing.nodes[case.start] if case.start else None
    run = Play(engine, drawing).run(process, start, Script(case, drawing))
    audit(engine, run)
    compare(case, run, drawing)
    Play(engine, drawing).finish(run)
    engine.close()


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

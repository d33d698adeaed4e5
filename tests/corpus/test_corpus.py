"""Every BPMN file there is, played: no exception, no broken invariant, every node reached.

The project's own files lie in ``tests/bpmn``; other people's in the folder ``PGBPM_CORPUS`` names
(default ``../shared/corpus`` beside the checkout; where there is none, the tests say so).
``PGBPM_TEST_SIZE=nightly`` tries more inputs.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pgbpm.devtools import scratch
from tests.corpus import __main__ as program
from tests.corpus import drawing, inputs
from tests.corpus.engine import Engine
from tests.corpus.inputs import MISSING
from tests.corpus.report import (
    Bounds,
    Corpus,
    FileReport,
    find_files,
    play_file,
    play_folder,
    totals,
)
from tests.support.database import TestDatabase

CHECKOUT = Path(__file__).resolve().parents[2]
OWN = CHECKOUT / "tests" / "bpmn"
FOREIGN = Path(os.environ.get("PGBPM_CORPUS") or CHECKOUT.parent / "shared" / "corpus")
NIGHTLY = os.environ.get("PGBPM_TEST_SIZE") == "nightly"
BOUNDS = Bounds() if NIGHTLY else Bounds(runs=30, least=3, audited=30)

NEVER_REACHED: dict[str, set[str]] = {
    # The called process is in no file; the stub for it throws no error.
    "hmcts-create-sdo-empty-idiom.bpmn": {"Event_11hktcj"},
}
"""Nodes and flows of files that no input can reach, by the diagram."""

OWN_FILES = find_files(OWN)
FOREIGN_FILES = find_files(FOREIGN) if FOREIGN.is_dir() else []

needs_corpus = pytest.mark.skipif(
    not FOREIGN_FILES, reason=f"no corpus: {FOREIGN} holds no BPMN file (set PGBPM_CORPUS)"
)


@pytest.fixture(scope="module")
def stage(server_url: str, template: str) -> Iterator[str]:
    """A database for all files, each of which gets a tenant; every run is audited by itself."""
    with scratch.scratch_database(server_url, template) as url:
        yield url


@pytest.fixture(scope="module")
def own() -> Corpus:
    """The project's own files."""
    return Corpus.of(OWN)


@pytest.fixture(scope="module")
def foreign() -> Corpus:
    """Other people's files."""
    return Corpus.of(FOREIGN)


def check_report(report: FileReport) -> None:
    """What must hold for every file."""
    assert report.exception is None, report.exception
    assert report.deployed == (not report.faults)
    assert report.runs >= len(report.processes)
    assert all(fault["code"] and fault["message"] for fault in report.faults + report.warnings)


@pytest.mark.parametrize("file", OWN_FILES, ids=[f.name for f in OWN_FILES])
def test_own_file(file: Path, own: Corpus, stage: str) -> None:
    """Deploys, and every node of it is reached, and every flow out of a choice."""
    report = play_file(own, file, stage, BOUNDS)
    check_report(report)
    assert report.deployed, report.faults
    assert report.completed
    missed = {*report.uncovered_nodes, *report.uncovered_flows}
    assert missed == NEVER_REACHED.get(file.name, set()), report


@needs_corpus
@pytest.mark.parametrize("file", FOREIGN_FILES, ids=[f.name for f in FOREIGN_FILES])
def test_foreign_file(file: Path, foreign: Corpus, stage: str) -> None:
    """Is refused with its faults, or deploys and all of it is reached, too."""
    report = play_file(foreign, file, stage, BOUNDS)
    check_report(report)
    if report.deployed:
        assert report.completed
        missed = {*report.uncovered_nodes, *report.uncovered_flows}
        assert missed == NEVER_REACHED.get(file.name, set()), report


# -- the program itself -------------------------------------------------------------------------

MODEL = f'xmlns="{drawing.MODEL}" targetNamespace="urn:test"'
GOOD = f"""<?xml version="1.0" encoding="UTF-8"?>
<definitions {MODEL}><process id="good" isExecutable="true">
<startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
<callActivity id="c" calledElement="elsewhere"/><sequenceFlow id="f2" sourceRef="c" targetRef="e"/>
<endEvent id="e"/></process></definitions>"""
PLAIN = GOOD.replace("callActivity", "serviceTask").replace(' calledElement="elsewhere"', "")
KEYS = {
    *("deployed", "faults", "warnings", "runs", "completed", "incidents", "uncovered_nodes"),
    "exception",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a good file below, a refused one, and one that is no BPMN."""
    made = tmp_path / "in"
    (made / "below").mkdir(parents=True)
    (made / "below" / "good.bpmn20.xml").write_text(PLAIN, "utf-8")
    (made / "bad.bpmn").write_text(PLAIN.replace('targetRef="e"', 'targetRef="x"'), "utf-8")
    (made / "other.xml").write_text("<pom/>", "utf-8")
    return made


def test_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One entry and one line per file; totals; refused files are no failure."""
    file = folder.parent / "deep" / "report.json"
    assert program.main([str(folder), "--runs", "4", "--report", str(file)]) == 0
    report = json.loads(file.read_text("utf-8"))
    bad, good = report["files"]
    assert (bad["file"], good["file"]) == ("bad.bpmn", "below/good.bpmn20.xml")
    assert bad.keys() >= KEYS
    assert not bad["deployed"]
    assert {"SequenceFlowTargetNotFound"} <= {fault["code"] for fault in bad["faults"]}
    assert good["deployed"]
    assert good["runs"] == good["completed"] > 0
    assert good["uncovered_nodes"] == []
    assert good["exception"] is None
    assert report["totals"]["files"] == 2
    assert report["totals"]["deployed"] == report["totals"]["refused"] == 1
    said = capsys.readouterr().out
    assert "[1/2] bad.bpmn: refused" in said
    assert "[2/2] below/good.bpmn20.xml: " in said


def test_a_join_that_waits_in_vain_is_no_exception(folder: Path, stage: str) -> None:
    """The run is given up after its incident, and cancelled; other inputs do complete."""
    (folder / "bad.bpmn").unlink()
    file = folder / "starves.bpmn"
    file.write_text(
        f"""<definitions {MODEL}><process id="starves" isExecutable="true">
<startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="fork"/>
<parallelGateway id="fork"/><sequenceFlow id="f2" sourceRef="fork" targetRef="join"/>
<sequenceFlow id="f3" sourceRef="fork" targetRef="x"/><exclusiveGateway id="x" default="f4"/>
<sequenceFlow id="f4" sourceRef="x" targetRef="away"/><endEvent id="away"/>
<sequenceFlow id="f5" sourceRef="x" targetRef="join">
<conditionExpression>${{both}}</conditionExpression></sequenceFlow>
<parallelGateway id="join"/><sequenceFlow id="f6" sourceRef="join" targetRef="e"/>
<endEvent id="e"/></process></definitions>""",
        "utf-8",
    )
    report = play_file(Corpus.of(folder), file, stage, BOUNDS)
    check_report(report)
    assert report.incident_codes.keys() == {"JoinStarved"}
    assert report.stopped == {
        "given up after incident JoinStarved at join": report.runs - report.completed
    }
    assert report.statuses == {
        "Running": report.runs - report.completed, "Completed": report.completed,
    }  # fmt: skip
    assert report.completed
    assert report.uncovered_nodes == report.uncovered_flows == []


def test_violations_are_exceptions(
    folder: Path, server_url: str, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken invariant is the file's exception, and the exit code says so."""
    monkeypatch.setattr(Engine, "violations", lambda self: [{"invariant": "I-06"}])
    reports = play_folder(folder, server_url, template, Bounds(runs=1), tell=lambda text: None)
    assert "I-06" in (reports[1].exception or "")
    assert totals(reports)["exceptions"] == 1
    assert program.exit_code(reports) == 1


def test_differing_replay_is_an_exception(folder: Path, fresh_database: TestDatabase) -> None:
    """The comparison of history and live tokens can fail."""
    corpus = Corpus.of(folder)
    engine = Engine(fresh_database.url)
    engine.call("deploy_bpmn", xml=PLAIN)
    started = engine.call("start_process", code="good", variables={}, business_key="k")[0]
    instance = str(started["process_instance_id"])
    assert engine.differences(instance) == []
    fresh_database.rows("update bpm_core.token set node_id = 's'")
    assert len(engine.differences(instance)) == 1
    fresh_database.rows("update bpm_core.token set node_id = 'c'")
    engine.close()
    assert len(corpus.files) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${amount > 1000}", {"amount": [1000, 1001, 999]}),
        ("= amount >= -2", {"amount": [-2, -1, -3]}),
        ("${5 < a.b && !c}", {"a.b": [5, 6, 4], "c": [True, False, MISSING]}),
        ("#{kind == 'x' or kind eq \"y\"}", {"kind": ["x", "not x", "y"]}),
        ("${empty flags.it}", {"flags.it": [MISSING, "something"]}),
        ("${execution.getVariable('v')}", {"v": [True, False, MISSING]}),
        ('= list contains(tags, "red")', {"tags": ["red", "not red", ["red"], []]}),
        ("= count(items) > 1", {"items": [[], [0], [0, 1]]}),
        ("COUNT <= 10", {"COUNT": [10, 11, 9]}),
    ],
)
def test_values_worth_trying(text: str, expected: dict[str, list[Any]]) -> None:
    """Literals and what lies beside them; both truths for a bare name."""
    found = inputs.candidates(drawing.Drawing(uses=[drawing.Use(text, "condition", bare=True)]))
    assert found.values == expected


def test_variables_are_built_from_paths() -> None:
    """Dotted paths nest; what is missing is not there; elements of collections are not set."""
    found = inputs.Candidates(elements={"items": "item"})
    drawn = {"a.b": 1, "a.c.d": 2, "a": "x", "gone": MISSING, "item": 3, "items": [3]}
    assert found.variables(drawn) == {"a": {"b": 1, "c": {"d": 2}}, "items": [3]}


def test_elements_of_a_collection() -> None:
    """They are what the conditions on one of them ask for, objects where these name fields."""
    uses = [drawing.Use("= item.size > 2", "condition"), drawing.Use("= items", "list")]
    made = inputs.candidates(drawing.Drawing(uses=uses, elements={"item": "= items"}))
    assert made.variables(made.draw(random.Random(1))).keys() == {"items"}
    lists = [made.draw(random.Random(seed))["items"] for seed in range(20)]
    assert [{"size": 2}, {"size": 3}, {"size": 1}] in lists
    assert [] in lists


def test_a_document_type_is_not_parsed() -> None:
    """Nothing is expanded, wherever the declaration hides."""
    for head in ("", "<?xml version='1.0'?>\n", "\ufeff<!-- x -->\n <?a b?> "):
        with pytest.raises(SyntaxError, match="document type"):
            drawing.read(f'{head}<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')


def test_way_to_a_boundary_event() -> None:
    """Ways lead into sub-processes and over their boundary events."""
    order = drawing.read((OWN / "order.bpmn").read_text("utf-8"))
    way = order.way_to("order", "declined")
    assert way[0] == "ordered"
    assert way[-4:] == ["charge-card", "card-declined", "to-declined", "declined"]
    assert order.way_to("order", "nowhere") == []

"""Every file of a folder of other people's BPMN files: a complete answer, never an exception.

The folder is named by ``PGBPM_CORPUS`` (default ``../shared/corpus`` beside the checkout). Where
there is none, the tests say so and are skipped.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.corpus import drawing as drawings
from tests.support.database import TestDatabase

from pgbpm.cli.values import read_bpmn

CHECKOUT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("PGBPM_CORPUS") or CHECKOUT.parent / "shared" / "corpus")
FILES = sorted([*CORPUS.glob("*.bpmn"), *CORPUS.glob("*.bpmn20.xml")]) if CORPUS.is_dir() else []
BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DI = "http://www.omg.org/spec/BPMN/20100524/DI"
ERRORS = (CHECKOUT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
# The vocabulary is the page's: tests/docs proves that it names every fault there is.
CODES = set(re.findall(r"^\| `(\w+)` \| fault \|", ERRORS, re.M))
needs_corpus = pytest.mark.skipif(
    not FILES, reason=f"no corpus: {CORPUS} holds no BPMN file (set PGBPM_CORPUS)"
)
each_file = pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
WELL_FORMED = [file for file in FILES if not file.name.startswith("bad-")]
each_well_formed_file = pytest.mark.parametrize(
    "file", WELL_FORMED, ids=[file.name for file in WELL_FORMED]
)


def check(database: TestDatabase, xml: str) -> list[dict[str, Any]]:
    """What ``bpm.check_bpmn`` says."""
    return database.rows("select * from bpm.check_bpmn(%s)", [xml])


@needs_corpus
@each_file
def test_every_finding_is_complete(file: Path, database: TestDatabase) -> None:
    """Each fault has a known code, a message, and names an element of the file, at its line."""
    xml = file.read_text(encoding="utf-8")
    lines = xml.splitlines()
    for row in check(database, xml):
        assert row["message"], row
        if row["severity"] == "fault":
            assert row["code"] in CODES, row
        if row["code"] in {"InvalidXml", "NoProcess", "TooLarge"}:
            continue
        element = row["flow_id"] or row["node_id"]
        assert element, row
        assert element in row["message"], row
        assert element in lines[row["line"] - 1], row


@needs_corpus
@each_file
def test_check_and_deploy_agree(file: Path, fresh_database: TestDatabase) -> None:
    """A file deploys with its warnings, or is refused with the same list and leaves nothing."""
    xml = file.read_text(encoding="utf-8")
    findings = check(fresh_database, xml)
    faults = [row for row in findings if row["severity"] == "fault"]
    keys = ("code", "message", "node_id", "flow_id", "line", "hint")
    if faults:
        with pytest.raises(psycopg.DatabaseError) as refusal:
            fresh_database.rows("select * from bpm.deploy_bpmn(%s)", [xml])
        assert refusal.value.sqlstate == "BP422"
        detail = json.loads(refusal.value.diag.message_detail or "")
        assert detail["faults"] == [{key: row[key] for key in keys} for row in faults]
        assert fresh_database.value("select count(*) from bpm_core.process_definition") == 0
    else:
        first = fresh_database.rows("select * from bpm.deploy_bpmn(%s)", [xml])
        again = fresh_database.rows("select * from bpm.deploy_bpmn(%s)", [xml])
        assert first
        assert all(row["is_new"] and row["version"] == 1 for row in first)
        assert all(not row["is_new"] and row["version"] == 1 for row in again)
        assert len(first[0]["warnings"]) == len(findings)


@needs_corpus
@each_well_formed_file
def test_no_element_is_passed_over(file: Path, database: TestDatabase) -> None:
    """Whatever is drawn in a process is compiled or named by a fault, nested or not."""
    xml = file.read_text(encoding="utf-8")
    findings = check(database, xml)
    left_out = {
        row["node_id"]
        for row in findings
        if row["code"] in {"NotExecutable", "EmptyProcess"} and "not deployed" in row["message"]
    }
    named = {row["node_id"] for row in findings if row["severity"] == "fault"}
    compiled = {
        row["node_id"].partition(":")[0]
        for row in database.rows(
            "select n.node_id from bpm_core.compile_text(%s, false, '') c, unnest(c.nodes) n"
            " where n.kind is not null",
            [xml],
        )
    }
    drawing = drawings.read(xml)
    for node in drawing.nodes.values():
        if node.process not in left_out and not any(s in named for s in drawing.scopes_of(node.id)):
            assert node.id.partition(":")[0] in compiled, (node, findings)


@needs_corpus
@each_well_formed_file
def test_rows_are_those_of_another_parser(file: Path, database: TestDatabase) -> None:
    """The reader's rows equal what Python's XML parser sees: order, nesting, ids and attributes."""
    xml = file.read_text(encoding="utf-8")
    rows = database.rows(
        "select e.pos, e.parent, e.tag, e.id, e.attributes"
        " from bpm_core.read_bpmn(%s) r, unnest(r.elements) e"
        " where e.space = 'bpmn' order by e.pos",
        [xml],
    )
    expected: list[tuple[str, str | None, str | None, dict[str, str]]] = []

    def walk(element: ET.Element, above: str | None) -> None:
        for child in element:
            if child.tag == f"{{{DI}}}BPMNDiagram":
                continue
            tag = re.sub(r"^\{.*\}", "", child.tag)
            if child.tag.startswith(f"{{{BPMN}}}"):
                plain = {k: v for k, v in child.attrib.items() if not k.startswith("{")}
                expected.append((tag, child.get("id"), above, plain))
            walk(child, tag)

    walk(ET.fromstring(xml), None)
    by_pos = {row["pos"]: row["tag"] for row in rows}
    seen = [
        (
            row["tag"],
            row["id"],
            by_pos.get(row["parent"]),
            {k: v for k, v in row["attributes"].items() if ":" not in k},
        )
        for row in rows
    ]
    assert [(t, i, a) for t, i, _, a in seen] == [(t, i, a) for t, i, _, a in expected]
    for mine, other in zip(seen, expected, strict=True):
        if mine[2] is not None:
            assert mine[2] == other[2], mine


@needs_corpus
def test_hostile_files_are_refused_unread(database: TestDatabase) -> None:
    """The two files that are broken or hostile on purpose: one fault each, and which."""
    bad = {
        file.name: check(database, file.read_text(encoding="utf-8"))
        for file in FILES
        if file.name.startswith("bad-")
    }
    if not bad:
        pytest.skip("this corpus has no bad-… file")
    assert all([row["code"] for row in rows] == ["InvalidXml"] for rows in bad.values()), bad
    for (row,) in bad.values():
        assert row["line"], row
        assert re.search(rf"\(line {row['line']}, column \d+\)", row["message"]), row


def test_an_external_entity_is_not_read(database: TestDatabase, tmp_path: Path) -> None:
    """Neither a file of the server nor an address is opened: what they hold appears nowhere."""
    secret = tmp_path / "secret.txt"
    secret.write_text("kept-from-everybody", "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/x.dtd"
        for declaration in (
            f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>',
            f'<!DOCTYPE a [<!ENTITY e SYSTEM "{address}">]>',
            f'<!DOCTYPE a SYSTEM "{address}">',
            f'<!DOCTYPE a [<!ENTITY % p SYSTEM "{address}"> %p;]>',
        ):
            xml = f"{declaration}<definitions xmlns='{BPMN}'><process>&e;</process></definitions>"
            (row,) = check(database, xml)
            assert (row["code"], row["line"]) == ("InvalidXml", 1)
            assert "kept-from-everybody" not in str(row)
            with pytest.raises(psycopg.DatabaseError, match="document type"):
                database.rows("select * from bpm.deploy_bpmn(%s)", [xml])
        with pytest.raises(BlockingIOError):  # nobody has called
            listener.accept()


def test_broken_files_have_a_place(database: TestDatabase) -> None:
    """An empty file, an unbound prefix, a file that is cut off: line and column."""
    for xml, line in (
        ("", 1),
        (f"<definitions xmlns='{BPMN}'>\n<x:process id='p'/></definitions>", 2),
        (f"<definitions xmlns='{BPMN}'>\n<process id='p'>\n", 3),
    ):
        (row,) = check(database, xml)
        assert (row["code"], row["line"]) == ("InvalidXml", line), row
        assert f"(line {line}, column " in row["message"], row


@needs_corpus
def test_check_as_json_over_the_corpus(database: TestDatabase) -> None:
    """``pgbpm check --json`` answers for every file: no exception, and none is left out."""
    environment = {**os.environ, "BPM__DATABASE__URL": database.url}
    command = [sys.executable, "-m", "pgbpm", "check", "--json", *map(str, FILES)]
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stderr  # some files have faults
    assert "Traceback" not in done.stderr
    answer = json.loads(done.stdout)
    assert answer["files"] == len(FILES)
    for file in FILES:
        told = [
            (found["severity"], found["code"], found["line"], found["message"])
            for found in answer["findings"]
            if found["file"] == str(file)
        ]
        expected = [
            (row["severity"], row["code"], row["line"], row["message"])
            for row in check(database, read_bpmn(file))
        ]
        assert told == expected
    faulty = {found["file"] for found in answer["findings"] if found["severity"] == "fault"}
    assert answer["faulty"] == len(faulty)


ODD = {
    *("UnknownDestination", "DelegateAsTaskType", "ExecutableNotStated", "ScriptIgnored"),
    "ConditionWithoutMarks",
    "CalledProcessMissing",
}
"""Warnings of our own files, which show the habits of other people's editors."""

OWN = sorted((CHECKOUT / "tests" / "bpmn").glob("*.bpmn"))


@pytest.mark.parametrize("file", OWN, ids=[file.name for file in OWN])
def test_our_own_files_have_no_fault(file: Path, database: TestDatabase) -> None:
    """What we draw ourselves deploys; what is odd in it is meant to be."""
    findings = check(database, file.read_text(encoding="utf-8"))
    assert {row["code"] for row in findings} <= ODD, findings


def test_there_is_the_demo_process() -> None:
    assert "order.bpmn" in {file.name for file in OWN}

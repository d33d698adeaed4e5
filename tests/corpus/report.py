"""A folder of BPMN files: checked, deployed, played; one entry of the report per file."""

from __future__ import annotations

import json
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import psycopg

from pgbpm.cli.values import Unreadable, read_bpmn
from pgbpm.devtools import scratch
from tests.corpus import drawing as drawings
from tests.corpus import inputs
from tests.corpus.drawing import Drawing
from tests.corpus.engine import Broken, Engine, Row
from tests.corpus.explorer import Explorer
from tests.corpus.play import Play, Run

ENDINGS = (".bpmn", ".bpmn20.xml", ".xml")
KEYS = ("code", "message", "node_id", "flow_id", "line", "hint")
MOST_RUNS = 40
STUB = (
    '<definitions xmlns="{model}" targetNamespace="urn:pgbpm:corpus"><process id={code}'
    ' isExecutable="true"><startEvent id="start"/><sequenceFlow id="flow" sourceRef="start"'
    ' targetRef="end"/><endEvent id="end"/></process></definitions>'
)


@dataclass(slots=True)
class FileReport:
    """What became of one file."""

    file: str
    deployed: bool = False
    faults: list[Row] = field(default_factory=list)
    warnings: list[Row] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    runs: int = 0
    completed: int = 0
    incidents: int = 0
    uncovered_nodes: list[str] = field(default_factory=list)
    uncovered_flows: list[str] = field(default_factory=list)
    """Flows out of choices that no run took."""
    exception: str | None = None
    statuses: dict[str, int] = field(default_factory=dict)
    """How many runs ended in which status."""
    stopped: dict[str, int] = field(default_factory=dict)
    """Why runs did not end by themselves, and how many."""
    incident_codes: dict[str, int] = field(default_factory=dict)
    stubs: list[str] = field(default_factory=list)
    """Processes that are called and in no file: deployed as start → end."""
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The entry of the report."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def line(self) -> str:
        """One line for people."""
        if self.exception is not None:
            return f"EXCEPTION {self.exception.strip().splitlines()[-1][:300]}"
        if not self.deployed:
            codes = Counter(fault["code"] for fault in self.faults)
            said = ", ".join(f"{n} {code}" for code, n in sorted(codes.items()))
            return f"refused: {said or 'no process to run'}"
        said = f"{self.completed} of {self.runs} runs completed"
        if self.incidents:
            said += f", {self.incidents} incidents"
        if self.uncovered_nodes:
            said += f", not reached: {', '.join(self.uncovered_nodes[:6])}"
            said += " …" if len(self.uncovered_nodes) > 6 else ""
        elif self.uncovered_flows:
            said += f", not taken: {', '.join(self.uncovered_flows[:6])}"
        return f"{said} ({self.seconds:.1f} s)"


def find_files(folder: Path) -> list[Path]:
    """The BPMN files under a folder, sorted; other XML is left out."""
    found = []
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or not file.name.endswith(ENDINGS):
            continue
        if file.suffix == ".bpmn" or drawings.MODEL.encode() in file.read_bytes():
            found.append(file)
    return found


@dataclass(slots=True)
class Bounds:
    """How much is tried."""

    runs: int = MOST_RUNS
    """Most runs per process."""
    least: int = 6
    seconds: float = 60.0
    """Per file, looked at between runs."""
    audited: int = 1
    """Every how many runs the invariants are looked at; after the last one always."""


@dataclass(slots=True)
class Corpus:
    """All files of a folder, and which of them holds which process."""

    folder: Path
    files: list[Path]
    homes: dict[str, Path] = field(default_factory=dict)

    @staticmethod
    def of(folder: Path) -> Corpus:
        """Read a folder."""
        corpus = Corpus(folder, find_files(folder))
        for file in corpus.files:
            try:
                drawing = drawings.read(read_bpmn(file))
            except (Unreadable, SyntaxError):
                continue
            for process in drawing.processes:
                corpus.homes.setdefault(process, file)
        return corpus

    def name(self, file: Path) -> str:
        """A file's name in the report."""
        return file.relative_to(self.folder).as_posix()


def play_file(corpus: Corpus, file: Path, url: str, bounds: Bounds) -> FileReport:
    """Everything with one file, as a tenant of its own in a database with the test kit."""
    report = FileReport(corpus.name(file))
    began = time.monotonic()
    engine = Engine(url, tenant=f"corpus-{uuid.uuid4().hex[:12]}")
    try:
        _play(corpus, file, engine, bounds, report)
    except (Broken, psycopg.Error) as error:
        report.exception = "".join(traceback.format_exception_only(error)).strip()
    except Exception:  # a fault of this program is an exception of the file, too
        report.exception = traceback.format_exc()
    finally:
        engine.close()
    report.seconds = round(time.monotonic() - began, 2)
    return report


def _play(corpus: Corpus, file: Path, engine: Engine, bounds: Bounds, report: FileReport) -> None:
    try:
        text = read_bpmn(file)
    except Unreadable as error:
        report.faults = [{**dict.fromkeys(KEYS), "code": "InvalidXml", "message": str(error)}]
        return
    findings = engine.call("check_bpmn", xml=text)
    for severity, kept in (("fault", report.faults), ("warning", report.warnings)):
        kept += [{k: row[k] for k in KEYS} for row in findings if row["severity"] == severity]
    report.processes = deploy(engine, text, report.faults)
    report.deployed = bool(report.processes)
    if not report.deployed:
        return
    drawing = drawings.read(text)
    report.stubs = prepare(engine, drawing, report.warnings, report.processes, corpus)
    deadline = time.monotonic() + bounds.seconds
    for process in report.processes:
        explorer = Explorer(drawing, process)
        for run in _runs(engine, drawing, explorer, bounds, deadline):
            _note(report, run)
            audit(engine, run, whole=explorer.number % bounds.audited == 0)
        audit(engine, run, whole=True)
        report.uncovered_nodes += explorer.uncovered()
        report.uncovered_flows += [g for g in explorer.goals() if g in drawing.flows]


def deploy(engine: Engine, text: str, faults: list[Row]) -> list[str]:
    """Deploy a file; the codes of its processes. Check and deployment must agree."""
    try:
        rows = engine.call("deploy_bpmn", xml=text)
    except psycopg.Error as error:
        if error.sqlstate != "BP422":
            raise
        refused = json.loads(error.diag.message_detail or "{}").get("faults")
        if refused != faults:
            raise Broken(f"check_bpmn and deploy_bpmn disagree: {faults} and {refused}") from error
        return []
    if faults:
        raise Broken(f"deployed in spite of faults: {faults}")
    return [row["code"] for row in rows]


def prepare(
    engine: Engine, drawing: Drawing, warnings: list[Row], processes: list[str],
    corpus: Corpus | None = None,
) -> list[str]:  # fmt: skip
    """Register destinations and deploy called processes; those that had to be invented."""
    for warning in warnings:
        if warning["code"] == "UnknownDestination":
            code = warning["message"].rpartition("destination ")[2].partition(",")[0]
            engine.call("register_destination", code=code, config={"url": "https://example.com/"},
                        resend_allowed=True)  # fmt: skip
    if any(use.role == "process" for use in drawing.uses):
        _deploy_stub(engine, inputs.CALLED)
    stubs: list[str] = []
    have = set(processes)
    open_ends = [drawing]
    while open_ends:
        for node in open_ends.pop().nodes.values():
            if node.calls is None or node.calls in have or _is_expression(node.calls):
                continue
            have.add(node.calls)
            called = _called(engine, node.calls, corpus)
            if called is None:
                stubs.append(node.calls)
            else:
                open_ends.append(called)
    return stubs


def _is_expression(text: str) -> bool:
    return "{" in text or text.startswith("=")


def _called(engine: Engine, code: str, corpus: Corpus | None) -> Drawing | None:
    """Deploy a called process from its file; else a stub (None)."""
    home = corpus.homes.get(code) if corpus is not None else None
    if home is not None:
        text = read_bpmn(home)
        findings = engine.call("check_bpmn", xml=text)
        if not any(row["severity"] == "fault" for row in findings):
            deployed = [row["code"] for row in engine.call("deploy_bpmn", xml=text)]
            drawing = drawings.read(text)
            prepare(engine, drawing, [dict(row) for row in findings], deployed)
            if code in deployed:
                return drawing
    _deploy_stub(engine, code)
    return None


def _deploy_stub(engine: Engine, code: str) -> None:
    """A process that starts and ends."""
    stub = STUB.format(model=drawings.MODEL, code=quoteattr(code))
    engine.call("deploy_bpmn", xml=stub)


def _runs(
    engine: Engine, drawing: Drawing, explorer: Explorer, bounds: Bounds, deadline: float
) -> Iterator[Run]:
    """Runs until everything was reached, nothing new comes any more, or a bound is reached."""
    for number in range(bounds.runs):
        if number >= bounds.least and not explorer.is_hopeful():
            return
        if number and time.monotonic() > deadline:
            return
        play = Play(engine, drawing, doubtful=number % 4 == 3)
        start = explorer.start_event()
        run = play.run(explorer.process, start, explorer)
        explorer.learn(run)
        play.clear(run.reason or "the run is over")
        yield run


def audit(engine: Engine, run: Run, *, whole: bool) -> None:
    """After a run: replay gives the live tokens, and (whole) the engine's audit finds nothing."""
    differing = engine.differences(run.instance)
    if differing:
        raise Broken(f"replay differs from the live state after a run: {differing}")
    violations = engine.violations() if whole else []
    if violations:
        raise Broken(f"invariants broken after a run: {[dict(v) for v in violations]}")


def _note(report: FileReport, run: Run) -> None:
    report.runs += 1
    report.completed += run.completed
    report.incidents += len(run.incidents)
    report.statuses[run.status] = report.statuses.get(run.status, 0) + 1
    for code in run.incidents:
        report.incident_codes[code] = report.incident_codes.get(code, 0) + 1
    if run.reason:
        report.stopped[run.reason] = report.stopped.get(run.reason, 0) + 1
        if run.reason.startswith("nothing left"):
            raise Broken(f"a run stands still without an incident: {run.reason}")


def totals(reports: list[FileReport]) -> dict[str, int]:
    """Sums over all files."""
    return {
        "files": len(reports),
        "deployed": sum(r.deployed for r in reports),
        "refused": sum(not r.deployed and r.exception is None for r in reports),
        "exceptions": sum(r.exception is not None for r in reports),
        "faults": sum(len(r.faults) for r in reports),
        "warnings": sum(len(r.warnings) for r in reports),
        "runs": sum(r.runs for r in reports),
        "completed": sum(r.completed for r in reports),
        "incidents": sum(r.incidents for r in reports),
        "uncovered_nodes": sum(len(r.uncovered_nodes) for r in reports),
        "uncovered_flows": sum(len(r.uncovered_flows) for r in reports),
        "stubs": sum(len(r.stubs) for r in reports),
    }


def play_folder(
    folder: Path, server_url: str, template: str, bounds: Bounds,
    tell: Callable[[str], None] = print,
) -> list[FileReport]:  # fmt: skip
    """Every file of a folder, in a copy of the template database."""
    corpus = Corpus.of(folder)
    reports: list[FileReport] = []
    with scratch.scratch_database(server_url, template) as url:
        for number, file in enumerate(corpus.files, start=1):
            report = play_file(corpus, file, url, bounds)
            reports.append(report)
            tell(f"[{number}/{len(corpus.files)}] {report.file}: {report.line()}")
    return reports

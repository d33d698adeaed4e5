"""Every command for users, for people and as JSON, against a real database."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from click.testing import CliRunner, Result
from tests.driver.runner_kit import (
    HEAD,
    caught,
    deploy,
    linear,
    publish_task,
    run_until_idle,
    start,
)
from tests.support.database import TestDatabase

from pgbpm import migrations
from pgbpm.cli import hints, root
from pgbpm.cli.reasons import error_words
from pgbpm.worker import Done, NonRetryable, Task, Worker

USER_TASK = f"""{HEAD}<process id="asking" name="Ask somebody" isExecutable="true">
  <startEvent id="start"/><userTask id="ask" name="Please look"/><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="ask"/>
  <sequenceFlow id="f2" sourceRef="ask" targetRef="end"/></process></definitions>"""

APPROVED = f"""{HEAD}<process id="asking-leave" isExecutable="true">
  <startEvent id="start"/><serviceTask id="release" name="Release it" bpm:approval="required"/>
  <endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="release"/>
  <sequenceFlow id="f2" sourceRef="release" targetRef="end"/></process></definitions>"""

STARTING = f"""{HEAD}<signal id="s" name="bell"/><process id="starting" isExecutable="true">
  <startEvent id="rung"><signalEventDefinition signalRef="s"/></startEvent>
  <startEvent id="daily"><timerEventDefinition><timeCycle>0 9 * * *</timeCycle>
  </timerEventDefinition></startEvent>
  <userTask id="look"/><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="rung" targetRef="look"/>
  <sequenceFlow id="f2" sourceRef="daily" targetRef="look"/>
  <sequenceFlow id="f3" sourceRef="look" targetRef="end"/></process></definitions>"""
WAITING = f"""{HEAD}<message id="m" name="paid"/><process id="waiting" isExecutable="true">
  <startEvent id="start"/><intermediateCatchEvent id="wait" name="Wait for the money">
  <messageEventDefinition messageRef="m"/></intermediateCatchEvent>
  <intermediateCatchEvent id="pause"><timerEventDefinition>
  <timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent>
  <endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="wait"/>
  <sequenceFlow id="f2" sourceRef="wait" targetRef="pause"/>
  <sequenceFlow id="f3" sourceRef="pause" targetRef="end"/></process></definitions>"""

SENDING = f"""{HEAD}<process id="sending" isExecutable="true">
  <startEvent id="start"/><sendTask id="tell" bpm:type="tell" bpm:destination="listener"/>
  <endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="tell"/>
  <sequenceFlow id="f2" sourceRef="tell" targetRef="end"/></process></definitions>"""

FAULTY = f"""{HEAD}<process id="faulty" isExecutable="true">
  <startEvent id="start"/>
  <complexGateway id="what"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="what"/>
  <sequenceFlow id="f2" sourceRef="what" targetRef="nowhere"/></process></definitions>"""


class Cli:
    """``pgbpm`` on the test's database."""

    def __init__(self, database: TestDatabase) -> None:
        self.database = database

    def __call__(self, *arguments: object, code: int = 0, stdin: str | None = None) -> Result:
        """Run a command and check its exit code."""
        result = CliRunner().invoke(
            root, ["--database-url", self.database.url, *map(str, arguments)], input=stdin
        )
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    def json(self, *arguments: object, code: int = 0) -> Any:
        """Its answer to ``--json``, which must be all it prints on standard output."""
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def text(self, *arguments: object, code: int = 0) -> str:
        """What a person sees on standard output."""
        return self(*arguments, code=code).stdout


@pytest.fixture
def cli(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setattr(migrations, "run", lambda conn, folder=None: [])
    return Cli(database)


@pytest.fixture
def fresh_cli(fresh_database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setattr(migrations, "run", lambda conn, folder=None: [])
    return Cli(fresh_database)


def by_key(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["business_key"]))


def file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# -- deploy, check ------------------------------------------------------------------------------


def test_deploy(cli: Cli, tmp_path: Path) -> None:
    first = file(tmp_path, "first.bpmn", linear("deploy-one", "a"))
    second = file(tmp_path, "second.bpmn", linear("deploy-two", "a"))
    assert "deployed deploy-one version 1" in cli.text("deploy", first)
    answer = cli.json("deploy", first, second)
    assert [(r["code"], r["version"], r["is_new"]) for r in answer["deployed"]] == [
        ("deploy-one", 1, False), ("deploy-two", 1, True),
    ]  # fmt: skip
    assert "unchanged deploy-one version 1" in cli.text("deploy", first)
    listed = cli.json("definitions")
    assert ("deploy-two", 1) in {(row["code"], row["version"]) for row in listed}
    assert "deploy-two" in cli.text("definitions")


def test_deploy_says_every_fault(cli: Cli, tmp_path: Path) -> None:
    faulty = file(tmp_path, "faulty.bpmn", FAULTY)
    result = cli("deploy", faulty, code=1)
    assert "SequenceFlowTargetNotFound" in result.stderr
    assert "UnsupportedElement" in result.stderr
    assert result.stderr.count("SequenceFlowTargetNotFound") == 1
    assert f"error BP422: {faulty}: The file has " in result.stderr
    answer = cli.json("deploy", faulty, code=1)
    assert answer["deployed"] == []
    assert {f["code"] for f in answer["findings"]} >= {
        "SequenceFlowTargetNotFound", "UnsupportedElement",
    }  # fmt: skip


def test_publish_and_put_out_of_use(cli: Cli, tmp_path: Path) -> None:
    role = file(tmp_path, "role.toml", 'responsibilities = ["prices"]\n')
    assert "published role pricing version 1" in cli.text("publish", "role", "pricing", role)
    assert cli.json("publish", "role", "pricing", role) == {
        "code": "pricing", "version": 1, "is_new": False,
    }  # fmt: skip
    task = file(tmp_path, "task.toml", 'max_attempts = 4\n[input_schema]\nrequired = ["a"]\n')
    schema = file(tmp_path, "result.json", "true")
    cli.text("publish", "task", "price-it", task, "--result-schema", schema, "--set", "lease=60 s")
    settings = cli.database.rows("select * from bpm.task_version where code = 'price-it'")[0]
    assert settings["max_attempts"] == 4
    assert settings["lease"].total_seconds() == 60
    assert settings["input_schema"] == {"required": ["a"]}
    assert settings["result_schema"] is True
    cli.text("publish", "task", "price-it")
    flow = file(tmp_path, "flow.bpmn", linear("pricing-flow", "price-it"))
    pinned = cli.json(
        "publish", "workflow", flow, "--owner", "pricing", "--task", "price-it=price-it:1"
    )
    assert (pinned["code"], pinned["version"]) == ("pricing-flow", 1)
    row = cli.database.rows("select * from bpm.workflow_task where workflow_code = 'pricing-flow'")
    assert row[0]["task_version"] == 1
    bindings = [{"binding_key": "main", "workflow": "pricing-flow"}]
    process = file(tmp_path, "process.json", json.dumps(bindings))
    assert "published process priced version 1" in cli.text("publish", "process", "priced", process)
    assert cli.json("deprecate", "priced", 1, "--reason", "old")["outcome"] == "Done"
    cli("start", "priced", code=1)
    assert cli.json("archive", "process", "priced")["outcome"] == "Done"
    assert "not archived for a minute yet" in cli("delete", "process", "priced", code=1).stderr


def test_publish_says_what_is_wrong(cli: Cli, tmp_path: Path) -> None:
    faulty = file(tmp_path, "faulty.bpmn", FAULTY)
    refused = cli("publish", "workflow", faulty, code=1)
    assert "UnsupportedElement" in refused.stderr
    assert f"error BP422: {faulty}: The file has " in refused.stderr
    flow = file(tmp_path, "flow.bpmn", linear("wrong-flow", "wrong-it"))
    unknown = cli("publish", "workflow", flow, "--task", "wrong-it=nobody", code=1)
    assert "there is no task 'nobody'" in unknown.stderr
    bindings = [{"binding_key": "a", "workflow": "nothing-here", "depends_on": ["a"]}]
    process = file(tmp_path, "process.json", json.dumps({"bindings": bindings}))
    assert "Cycle" in cli("publish", "process", "wrong", process, code=1).stderr
    broken = file(tmp_path, "broken.toml", "x =")
    other = file(tmp_path, "other.json", '{"process": []}')
    for arguments, said in (
        (("role", "r", broken), "broken.toml"),
        (("task", "t", "--set", "retries=3"), "a task has no retries"),
        (("task", "t", "--set", "max_attempts=0"), "p_max_attempts must be from 1 to 1000"),
        (("process", "p", other), "a process has a name and bindings"),
        (("workflow", flow, "--task", "wrong-it"), "is not NODE=TASK[:VERSION]"),
    ):
        result = CliRunner().invoke(
            root, ["--database-url", cli.database.url, "publish", *map(str, arguments)]
        )
        assert result.exit_code != 0
        assert said in result.stderr


def test_check_takes_several_files(cli: Cli, tmp_path: Path) -> None:
    good = file(tmp_path, "good.bpmn", linear("check-good", "a"))
    faulty = file(tmp_path, "faulty.bpmn", FAULTY)
    assert cli.json("check", good) == {"files": 1, "faulty": 0, "findings": []}
    assert "no faults, no warnings" in cli.text("check", good)
    answer = cli.json("check", good, faulty, code=1)
    assert (answer["files"], answer["faulty"]) == (2, 1)
    missing = next(f for f in answer["findings"] if f["code"] == "SequenceFlowTargetNotFound")
    assert missing["file"] == str(faulty)
    assert (missing["id"], missing["line"], missing["severity"]) == ("f2", 5, "fault")
    text = cli.text("check", good, faulty, code=1)
    assert "SequenceFlowTargetNotFound" in text
    assert cli.database.rows("select 1 from bpm.definition d where d.code = 'check-good'") == []


@pytest.mark.parametrize(
    ("data", "faults"),
    [
        (linear("a", "b").encode("utf-16"), 0),
        (b"\xef\xbb\xbf" + linear("a", "b").encode(), 0),
        (
            b"<?xml version='1.0' encoding='ISO-8859-1'?>"
            + linear("a", "b").replace("Task id", "Task name='gr\u00fcn' id").encode("latin-1"),
            0,
        ),
        (b"\xff\xfe\xff", 1),
        (b"<a>\xff</a>", 1),
        (b"<?xml version='1.0' encoding='no-such'?><a/>", 1),
        (b"<a>\0</a>", 1),
        (b"", 1),
        (b"not xml", 1),
    ],
)
def test_files_are_read_as_people_have_them(
    cli: Cli, tmp_path: Path, data: bytes, faults: int
) -> None:
    odd = file(tmp_path, "odd.bpmn", data)
    answer = cli.json("check", odd, code=1 if faults else 0)
    assert sum(f["severity"] == "fault" for f in answer["findings"]) >= faults
    assert answer["faulty"] == faults


def test_a_missing_file_is_a_usage_error(cli: Cli) -> None:
    assert "does not exist" in cli("check", "/no/such/file", code=2).stderr


# -- start, ps, show ----------------------------------------------------------------------------


def test_start_ps_show(cli: Cli) -> None:
    deploy(cli.database, linear("seen", "a-task"))
    begun = cli.json(
        "start", "seen", "--key", "S-1", "--var", "amount=1200", "--var", "note=as text",
        "--variables", '{"amount": 1, "list": [1]}', "--idempotency-key", "once",
    )  # fmt: skip
    assert begun["is_new"] is True
    again = cli.json(
        "start", "seen", "--key", "S-1", "--var", "amount=1200", "--var", "note=as text",
        "--variables", '{"amount": 1, "list": [1]}', "--idempotency-key", "once",
    )  # fmt: skip
    assert again["is_new"] is False
    assert again["process_instance_id"] == begun["process_instance_id"]
    assert "process_instance_id" in cli.text("start", "seen", "--key", "S-2")

    listed = cli.json("ps", "--code", "seen", "--key", "S-1")
    assert [row["process_instance_id"] for row in listed] == [begun["process_instance_id"]]
    text = cli.text("ps", "--status", "Running", "--code", "seen")
    assert "S-1" in text
    assert "S-2" in text
    assert "no process instances" in cli.text("ps", "--status", "Failed", "--code", "seen")
    assert "more with --limit" in cli.text("ps", "--code", "seen", "--limit", 1)

    for typed in (
        "S-1",
        begun["process_instance_id"],
        begun["process_instance_id"].replace("-", ""),
    ):
        state = cli.json("show", typed)
        assert state["instance"]["process_instance_id"] == begun["process_instance_id"]
        assert state["instance"]["variables"] == {
            "amount": 1200, "note": "as text", "list": [1],
        }  # fmt: skip
        assert state["history"][0]["kind"] == "InstanceStarted"
    text = cli.text("show", "S-1")
    assert "seen v1 · S-1 · Running" in text
    assert "● a-task [serviceTask] Waiting" in text
    assert "└ task a-task Ready, attempt 0 of 3" in text
    assert "InstanceStarted" in text
    assert "last events" not in cli.text("show", "S-1", "--history", 0)


def test_show_a_process_of_several_workflows(cli: Cli) -> None:
    deploy(cli.database, linear("half", "half-task"))
    bindings = [
        {"binding_key": "pick", "workflow": "half"},
        {"binding_key": "ship", "workflow": "half", "depends_on": ["pick"]},
        {"binding_key": "tell", "workflow": "half", "start_condition": "${loud > 1}"},
    ]
    cli.database.rows("select * from bpm.publish_process('whole', %s)", [json.dumps(bindings)])
    cli.json("start", "whole", "--key", "W-1")
    text = cli.text("show", "W-1")
    assert "pick  half v1 Running\n" in text
    assert "ship  half v1 not begun (after pick)" in text
    assert "tell  half v1 Running (if ${loud > 1})" in text
    assert "● half-task [serviceTask] Waiting" in text
    assert "incident StartUndecidable: Workflow tell: the condition" in text
    assert "--var loud=…, then pgbpm incidents resolve" in text
    assert cli.json("set", "W-1", "--var", "loud=2") == {"loud": 2}
    incident = cli.json("show", "W-1")["incidents"][0]["incident_id"]
    cli("incidents", "resolve", incident)
    assert cli.text("show", "W-1").count("● half-task") == 2
    assert "workflows" not in cli.text("show", start(cli.database, "half")[0])


def test_ids_may_be_cut_and_keys_may_be_ambiguous(cli: Cli) -> None:
    deploy(cli.database, linear("cutting", "a-task"))
    one = start(cli.database, "cutting")[0]
    start(cli.database, "cutting")
    assert cli.json("show", one[:-2])["instance"]["process_instance_id"] == one
    result = cli("show", "cutting-1", code=1)
    assert "fits more than one process instance" in result.stderr
    assert one in result.stderr
    assert "no process instance fits 'nothing'" in cli("show", "nothing", code=1).stderr
    missing = cli("show", "00000000-0000-7000-8000-000000000000", code=1)
    assert "error BP404" in missing.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--var", "novalue"], "NAME=VALUE"),
        (["--variables", "{broken"], "not JSON"),
        (["--variables", "[1]"], "must be a JSON object"),
        (["--variables", "@/no/such/file"], "No such file"),
    ],
)
def test_malformed_variables_are_usage_errors(cli: Cli, arguments: list[str], said: str) -> None:
    assert said in cli("start", "seen", *arguments, code=2).stderr


def test_refusals_say_what_where_and_what_next(cli: Cli) -> None:
    deploy(cli.database, linear("strict-start", "a"))
    result = cli("start", "no-such-process", code=1)
    assert "error BP404" in result.stderr
    assert "no-such-process" in result.stderr
    assert "hint:" in result.stderr
    cli("start", "strict-start", "--idempotency-key", "k")
    other = cli("start", "strict-start", "--idempotency-key", "k", "--var", "a=1", code=1)
    assert "error BP409" in other.stderr


def test_variables_from_standard_input_and_files(cli: Cli, tmp_path: Path) -> None:
    deploy(cli.database, linear("reading", "a"))
    cli("start", "reading", "--key", "in", "--variables", "-", stdin='{"from": "stdin"}')
    given = file(tmp_path, "v.json", '{"from": "file"}')
    cli("start", "reading", "--key", "file", "--variables", f"@{given}")
    assert cli.json("show", "in")["instance"]["variables"] == {"from": "stdin"}
    assert cli.json("show", "file")["instance"]["variables"] == {"from": "file"}


def test_start_many(cli: Cli, tmp_path: Path) -> None:
    deploy(cli.database, linear("many", "a"))
    lines = [
        {"variables": {"n": n}, "business_key": f"M-{n}", "idempotency_key": f"m{n}"}
        for n in range(250)
    ]
    source = file(tmp_path, "many.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n")
    assert "250 started, 0 known, 0 refused" in cli.text("start", "many", "--from", source)
    answer = cli.json("start", "many", "--from", source)
    assert [row["item"] for row in answer] == list(range(1, 251))
    assert not any(row["is_new"] for row in answer)
    lines[7]["variables"] = {"n": "changed"}
    source.write_text("\n".join(map(json.dumps, lines)))
    text = cli.text("start", "many", "--from", source, code=1)
    assert "0 started, 249 known, 1 refused" in text
    assert "Conflict" in text
    bad = file(tmp_path, "bad.jsonl", '{"variables": {}}\n{"surprise": 1}')
    assert "line 2" in cli("start", "many", "--from", bad, code=2).stderr
    cli("start", "many", "--from", source, "--key", "x", code=2)


def test_cancel(cli: Cli) -> None:
    deploy(cli.database, linear("cancelled", "a"))
    start(cli.database, "cancelled", 2)
    assert cli.json("cancel", "cancelled-1", "--reason", "test")["status"] == "Cancelled"
    cli("cancel", "cancelled-2")
    assert "Cancelled" in cli.text("show", "cancelled-2")


# -- repair -------------------------------------------------------------------------------------


def test_suspend_and_resume(cli: Cli) -> None:
    deploy(cli.database, linear("paused", "a"))
    start(cli.database, "paused", 1)
    assert cli.json("suspend", "paused-1", "--reason", "audit")["status"] == "Suspended"
    assert "Suspended" in cli.text("show", "paused-1")
    assert cli.json("suspend", "paused-1")["status"] == "Suspended"
    assert "BP423" in cli("skip", "paused-1", code=1).stderr
    assert "Running" in cli.text("resume", "paused-1", "--actor", "ann")
    assert cli.json("resume", "paused-1")["status"] == "Running"
    cli("cancel", "paused-1")
    assert "BP409" in cli("suspend", "paused-1", code=1).stderr


def test_move_and_skip(cli: Cli) -> None:
    deploy(cli.database, linear("repaired", "a", "b", "c"))
    start(cli.database, "repaired", 1)
    moved = cli.json("move", "repaired-1", "c", "--at", "a", "--reason", "by hand")
    assert (moved["node_id"], moved["state"]) == ("c", "Waiting")
    nowhere = cli("move", "repaired-1", "c", "--at", "a", code=1).stderr
    assert "no token stands there" in nowhere
    assert f"c ({moved['token_id']})" in nowhere
    assert "BP422" in cli("move", "repaired-1", "start", code=1).stderr
    assert "b" in cli.text("move", "repaired-1", "b", "--token", moved["token_id"][:20])
    skipped = cli.json("skip", "repaired-1", "--var", "done=1", "--actor", "ann")
    assert (skipped["node_id"], skipped["instance_status"]) == ("c", "Running")
    assert cli.json("show", "repaired-1")["instance"]["variables"]["done"] == 1
    assert "Completed" in cli.text("skip", "repaired-1", "--at", "c")


def test_transfer(cli: Cli) -> None:
    deploy(cli.database, linear("moving", "a"))
    start(cli.database, "moving", 3)
    deploy(cli.database, linear("moving", "b"))
    plan = cli.json("transfer", "moving-1", "--to", 2, "--check", code=1)
    assert [(row["node_id"], row["refusal"]) for row in plan] == [("a", "NodeMissing")]
    assert "NodeMissing" in cli.text("transfer", "moving-1", "--to", 2, code=1)
    assert (
        cli.json("transfer", "moving-1", "--to", 2, "--map", "a=b", "--check")[0]["action"]
        == "rename"
    )
    row = cli.json("transfer", "moving-1", "--to", 2, "--map", "a=b", "--reason", "new rules")
    assert (row["from_version"], row["to_version"]) == (1, 2)
    assert [change["action"] for change in row["changes"]] == ["rename"]
    assert cli.json("show", "moving-1")["tokens"][0]["node_id"] == "b"
    rows = cli.json("transfer", "--all", "moving", "--from", 1, "--to", 2, code=1)
    assert [row["outcome"] for row in rows] == ["Rejected", "Rejected"]
    text = cli.text("transfer", "--all", "moving", "--from", 1, "--to", 2, "--map", "a=b")
    assert text.count("Done") == 2
    for wrong in (
        ["moving-1"],
        ["--all", "moving", "--to", 2],
        ["moving-1", "--to", 2, "--map", "a"],
    ):
        cli("transfer", *wrong, code=2)


def test_restart(cli: Cli) -> None:
    deploy(cli.database, linear("again", "a", "b"))
    start(cli.database, "again", 1)
    cli("skip", "again-1", "--var", "seen=1")
    assert "no process instance that failed" in cli("restart", "again-1", code=1).stderr
    cli("cancel", "again-1")
    answer = cli.json("restart", "again-1", "--at", "b", "--idempotency-key", "again")
    assert answer["is_new"]
    state = cli.json("show", answer["process_instance_id"])
    assert state["tokens"][0]["node_id"] == "b"
    assert state["instance"]["variables"]["seen"] == 1
    again = cli.text("restart", "again-1", "--at", "b", "--idempotency-key", "again")
    assert "is_new                no" in again


# -- messages -----------------------------------------------------------------------------------


def test_message(cli: Cli) -> None:
    deploy(cli.database, WAITING)
    start(cli.database, "waiting", 2)
    text = cli.text("show", "waiting-1")
    assert "● wait “Wait for the money”" in text
    assert "waits for message paid with key waiting-1 → pgbpm message paid waiting-1" in text
    answer = cli.json("message", "paid", "waiting-1", "--var", "sum=5", "--id", "one")
    assert (answer["state"], answer["is_new"]) == ("Correlated", True)
    assert (
        cli.json("message", "paid", "waiting-1", "--var", "sum=5", "--id", "one")["is_new"] is False
    )
    assert "timer pause PT1H Scheduled" in cli.text("show", "waiting-1")
    assert cli.json("show", "waiting-1")["instance"]["variables"]["sum"] == 5
    assert "Buffered" in cli.text("message", "paid", "nobody", "--ttl", "1 minute")
    refused = cli("message", "paid", "nobody", "--ttl", "forever", code=2)
    assert "'forever' is no interval" in refused.stderr


def test_signal_and_what_starts(cli: Cli) -> None:
    assert "nothing starts by itself" in cli.text("starts")
    deploy(cli.database, STARTING)
    rows = cli.json("starts")
    assert [(row["node_id"], row["kind"], row["name"]) for row in rows] == [
        ("daily", "Timer", "0 9 * * *"),
        ("rung", "Signal", "bell"),
    ]
    assert (rows[0]["time_zone"], rows[0]["next_due_at"] is not None) == ("UTC", True)
    answer = cli.json("signal", "bell", "--var", "loud=true")
    assert answer["receivers"] == 1
    cli.database.value("select bpm.run_until_idle()")
    (row,) = cli.json("ps", "--code", "starting")
    shown = cli.json("show", row["process_instance_id"])["instance"]
    assert shown["variables"] == {"loud": True}
    cli("cancel", row["process_instance_id"])
    assert "0" in cli.text("signal", "nobody-listens")
    refused = cli("start", "starting", code=1)
    assert "has no plain start event" in refused.stderr
    assert "pgbpm starts" in refused.stderr


# -- tasks, approvals ---------------------------------------------------------------------------


def test_tasks_and_complete(cli: Cli) -> None:
    deploy(cli.database, USER_TASK)
    deploy(cli.database, linear("serving", "serve-me"))
    start(cli.database, "asking", 3)
    start(cli.database, "serving")
    mine = by_key(cli.json("tasks", "--type", "bpm:user"))
    assert [row["business_key"] for row in mine] == ["asking-1", "asking-2", "asking-3"]
    assert "asking-2" in cli.text("tasks", "--type", "bpm:user")
    shown = cli.text("show", "asking-1")
    assert f"└ task for anybody Ready → pgbpm complete {mine[0]['task_id']}" in shown
    assert "attempt" not in shown
    assert "(1 shown; more with --limit)" in cli.text("tasks", "--limit", 1)
    assert "no open tasks" in cli.text("tasks", "--assignee", "nobody")

    done = cli.json("complete", mine[0]["task_id"], "--var", "looked=true", "--actor", "alice")
    assert (done["outcome"], done["instance_status"]) == ("Completed", "Completed")
    assert "Completed" in cli.text("complete", "asking-2")
    assert cli.json("show", "asking-1")["instance"]["variables"]["looked"] is True

    claimed = cli.database.rows("select * from bpm.claim_tasks('me', '{serve-me}')")[0]
    assert "by me until" in cli.text("show", "serving-1")
    lost = cli("complete", claimed["task_id"], "--fencing-token", 99, code=1)
    assert "error BP410" in lost.stderr
    token = claimed["fencing_token"]
    assert cli.json("complete", "serving-1", "--fencing-token", token)["outcome"] == "Completed"
    assert [row["business_key"] for row in by_key(cli.json("tasks", "--state", "Completed"))] == [
        "asking-1", "asking-2", "serving-1",
    ]  # fmt: skip
    cli("complete", claimed["task_id"], "--fencing-token", token, "--actor", "a", code=2)

    closed = cli("complete", "asking-1", "--actor", "bob", code=1).stderr
    assert "is Completed, answered by alice" in closed
    service = cli("complete", claimed["task_id"], code=1).stderr
    assert "is for workers (serve-me, Completed), not for people" in service
    assert "--fencing-token" in service
    assert "no open task fits" in cli("complete", "nothing-there", code=1).stderr


def test_approve_and_reject(cli: Cli) -> None:
    deploy(cli.database, APPROVED)
    start(cli.database, "asking-leave", 3)
    pending = by_key(cli.json("approvals"))
    assert [row["business_key"] for row in pending] == [f"asking-leave-{n}" for n in (1, 2, 3)]
    assert "approval of release Pending" in cli.text("show", "asking-leave-1")
    approved = cli.json("approve", pending[0]["approval_id"], "--note", "fine", "--actor", "bob")
    assert (approved["status"], approved["decided_by"]) == ("Approved", "bob")
    assert "Rejected" in cli.text("reject", "asking-leave-2", "--note", "no")
    assert "Approved" in cli.text("approve", pending[0]["approval_id"])  # again: the first answer
    other = cli("reject", pending[0]["approval_id"], code=1)
    assert "error BP409" in other.stderr
    by_its_key = cli("approve", "asking-leave-2", code=1)
    assert "Rejected" in by_its_key.stderr
    assert [row["business_key"] for row in cli.json("approvals")] == ["asking-leave-3"]
    assert {row["status"] for row in cli.json("approvals", "--all")} == {
        "Approved", "Rejected", "Pending",
    }  # fmt: skip
    third = pending[2]["approval_id"]
    assert cli.json("approval", "claim", third, "--actor", "ann")["claimed_by"] == ["ann"]
    assert "claimed by ann" in cli("approval", "claim", third, "--actor", "bob", code=1).stderr
    assert cli.json("approvals", "--for", "bob", "--group", "all")[0]["claimed_by"] == ["ann"]
    assert "ann" in cli.text("approvals")
    assert "BP422" in cli("approval", "unclaim", third, "--person", "ann", code=1).stderr
    off = ("approval", "unclaim", third, "--person", "ann", "--reason", "ill", "--actor", "bob")
    assert cli.json(*off)["claimed_by"] == []
    cli("approvals", "--group", "all", code=2)


def test_review_of_what_was_looked_at(cli: Cli) -> None:
    deploy(cli.database, linear("doubted", "doubt"))
    start(cli.database, "doubted", 1)
    worker = Worker()
    worker.task("doubt")(lambda task: Done({"kg": 7}, review="the scales jumped"))
    run_until_idle(cli.database, worker)
    (row,) = cli.json("reviews", "--for", "ann")
    assert row["reasons"] == ["the scales jumped"]
    assert row["content_hash"][:16] in cli.text("reviews", "--for", "ann")
    decide = ("review", row["review_id"], "approve", "--actor", "ann")
    assert "another content" in cli(*decide, "--hash", "0" * 16, code=1).stderr
    cli(*decide, "--hash", "0", code=2)
    assert cli.json(*decide, "--hash", row["content_hash"][:16])["decision"] == "Approve"
    ended = "select i.status from bpm.instance i where i.process_instance_id = %s"
    assert cli.database.value(ended, [row["process_instance_id"]]) == "Completed"


# -- repair -------------------------------------------------------------------------------------


def test_dead_letters_and_incidents(cli: Cli) -> None:
    publish_task(cli.database, "breaks", max_attempts=1)
    deploy(cli.database, linear("breaking", "breaks"))
    start(cli.database, "breaking", 3)
    worker = Worker()

    @worker.task("breaks")
    async def breaks(task: Task) -> None:
        if task.attempt == 1:
            raise NonRetryable("not today")

    run_until_idle(cli.database, worker)
    letters = cli.json("dead-letters")
    assert letters == cli.json("dead-letters", "list")
    mine = by_key([row for row in letters if row["business_key"].startswith("breaking")])
    assert [row["business_key"] for row in mine] == ["breaking-1", "breaking-2", "breaking-3"]
    assert mine[0]["error"]["message"] == "not today"
    assert "NonRetryable: not today" in cli.text("dead-letters", "list")
    found = [row for row in cli.json("incidents") if row["business_key"] == "breaking-2"]
    assert len(found) == 1
    text = cli.text("show", "breaking-1")
    assert "● breaks [serviceTask] Failed" in text
    assert "incident" in text
    assert "NonRetryable: not today" in text

    assert cli.json("dead-letters", "requeue", "breaking-1", "--attempts", 2)["outcome"] == "Done"
    assert cli.json("incidents", "resolve", found[0]["incident_id"])["outcome"] == "Done"
    assert (
        cli.json("dead-letters", "discard", "breaking-3", "--reason", "given up")["outcome"]
        == "Done"
    )
    run_until_idle(cli.database, worker)
    states = {row["business_key"]: row["status"] for row in cli.json("ps", "--code", "breaking")}
    assert states == {"breaking-1": "Completed", "breaking-2": "Completed", "breaking-3": "Running"}
    assert {row["state"] for row in cli.json("dead-letters", "--all")} >= {"Requeued", "Discarded"}
    assert "breaking-3" in cli.text("incidents", "list")
    assert "Resolved" in cli.text("incidents", "--all")
    cli("incidents", "resolve", "breaking-3", "--attempts", 0, code=2)


CHOOSING = f"""{HEAD}<process id="choosing" isExecutable="true">
  <startEvent id="start"/><exclusiveGateway id="which"/><endEvent id="much"/><endEvent id="more"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="which"/>
  <sequenceFlow id="big" sourceRef="which" targetRef="much">
  <conditionExpression>${{order.amount &gt; 10}}</conditionExpression></sequenceFlow>
  <sequenceFlow id="huge" sourceRef="which" targetRef="more">
  <conditionExpression>${{order.amount &gt; 100}}</conditionExpression></sequenceFlow>
  </process></definitions>"""


def test_what_an_incident_saw_is_said_and_mended(cli: Cli) -> None:
    deploy(cli.database, CHOOSING)
    start(cli.database, "choosing", 1)
    text = cli.text("incidents")
    assert "of flow big cannot be decided: order.amount is missing." in text
    [found] = [r for r in cli.json("incidents") if r["business_key"] == "choosing-1"]
    step = f"--var order=…, then pgbpm incidents resolve {found['incident_id']}"
    assert f"choosing-1 → pgbpm set choosing-1 {step}" in text
    assert step in cli.text("show", "choosing-1")

    cli("set", "choosing-1", code=2)
    assert cli.json("set", "choosing-1", "--var", 'order={"amount": "lots"}', "--actor", "ann") == {
        "n": 1, "order": {"amount": "lots"},
    }  # fmt: skip
    again = cli("incidents", "resolve", "choosing-1")
    assert "stopped again: ConditionUndecidable" in again.stderr
    assert 'order.amount is "lots"' in again.stderr
    assert "hint: pgbpm set" in again.stderr
    assert '"amount": 5' in cli.text("set", "choosing-1", "--var", 'order={"amount": 5}')
    none = cli.json("incidents", "resolve", "choosing-1")
    assert [row["code"] for row in none["stopped_again"]] == ["NoFlowTrue"]
    assert "no default: order.amount is 5." in cli.text("incidents")

    cli("set", "choosing-1", "--variables", '{"order": {"amount": 11}}')
    mended = cli("incidents", "resolve", "choosing-1")
    assert mended.stderr == ""
    assert cli.json("show", "choosing-1")["instance"]["status"] == "Completed"
    assert (
        "no running process instance fits"
        in cli("set", "choosing-1", "--var", "a=1", code=1).stderr
    )


PATIENT = f"""{HEAD}<process id="patient" isExecutable="true"><startEvent id="start"/>
  <intermediateCatchEvent id="wait"><timerEventDefinition>
    <timeDuration>${{patience}}</timeDuration></timerEventDefinition></intermediateCatchEvent>
  <endEvent id="end"/><sequenceFlow id="f1" sourceRef="start" targetRef="wait"/>
  <sequenceFlow id="f2" sourceRef="wait" targetRef="end"/></process></definitions>"""


def test_an_incident_of_a_timer_says_what_it_got_and_what_to_set(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "patient.bpmn"
    file.write_text(PATIENT)
    cli("deploy", str(file))
    cli("start", "patient", "--key", "patient-1", "--var", "patience=soon")
    text = cli.text("incidents")
    assert '${patience} gives no time: patience is "soon".' in text
    assert "patient-1 → pgbpm set patient-1 --var patience=…, then pgbpm incidents resolve" in text
    assert 'patience  "3"' in cli.text("set", "patient-1", "--var", 'patience="3"')
    cli("start", "patient", "--key", "patient-2")
    assert "gives no time: patience is no text." in cli.text("show", "patient-2")


INSIDE = f"""{HEAD}<process id="inside" isExecutable="true"><startEvent id="start"/>
  <subProcess id="sub"><extensionElements>
    <z:ioMapping xmlns:z="http://camunda.org/schema/zeebe/1.0">
    <z:input source="= order" target="part"/></z:ioMapping></extensionElements>
    <startEvent id="in"/><exclusiveGateway id="which" default="s4"/><endEvent id="a"/>
    <endEvent id="b"/>
    <sequenceFlow id="s1" sourceRef="in" targetRef="which"/>
    <sequenceFlow id="s2" sourceRef="which" targetRef="a">
    <conditionExpression>= part > 10</conditionExpression></sequenceFlow>
    <sequenceFlow id="s4" sourceRef="which" targetRef="b"/></subProcess>
  <intermediateCatchEvent id="calm"><conditionalEventDefinition>
    <condition>${{calm &amp;&amp; part.done}}</condition></conditionalEventDefinition>
  </intermediateCatchEvent><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="sub"/>
  <sequenceFlow id="f2" sourceRef="sub" targetRef="calm"/>
  <sequenceFlow id="f3" sourceRef="calm" targetRef="end"/></process></definitions>"""
CALLING = f"""{HEAD}<process id="calling" isExecutable="true"><startEvent id="start"/>
  <callActivity id="call" calledElement="choosing"/><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="call"/>
  <sequenceFlow id="f2" sourceRef="call" targetRef="end"/></process></definitions>"""


def test_what_is_inside_is_mended_where_it_stands(cli: Cli) -> None:
    deploy(cli.database, INSIDE)
    start(cli.database, "inside", 1, order="many")
    [found] = [r for r in cli.json("incidents") if r["business_key"] == "inside-1"]
    step = f"--token {found['token_id']} --var part=…, then pgbpm incidents resolve"
    assert f"inside-1 → pgbpm set inside-1 {step} {found['incident_id']}" in cli.text("incidents")
    assert step in cli.text("show", "inside-1")
    assert f"hint: pgbpm set {found['process_instance_id']} {step}" in (
        cli("incidents", "resolve", "inside-1").stderr
    )
    cli("set", "inside-1", "--token", found["token_id"], "--var", "part=11")
    cli("incidents", "resolve", "inside-1")
    assert "calm waits until ${calm && part.done}" in cli.text("show", "inside-1")
    cli("set", "inside-1", "--variables", '{"calm": true, "part": {"done": true}}')
    assert cli.json("show", "inside-1")["instance"]["status"] == "Completed"

    for xml in (CHOOSING, CALLING):
        deploy(cli.database, xml)
    start(cli.database, "calling", 1)
    [found] = [r for r in cli.json("incidents") if r["business_key"] == "calling-1"]
    assert f"set calling-1 --token {found['token_id']} --var order=…" in cli.text("incidents")


def test_a_name_is_no_path(cli: Cli) -> None:
    deploy(cli.database, USER_TASK)
    given: dict[str, Any] = {"order": {"total": 1}, "a.b": 1}
    [instance] = start(cli.database, "asking", 1, **given)
    told = cli("set", instance, "--var", "order.total=2", code=1).stderr
    assert "there is no variable 'order.total', and a name is no path into 'order'" in told
    assert "--var 'order={…}'" in told
    assert cli.json("set", instance, "--var", "a.b=2", "--var", "new.name=3")["a.b"] == 2
    changed = cli.json("set", instance, "--variables", '{"order.total": 2}')
    assert (changed["order.total"], changed["order"]) == (2, {"total": 1})


def test_a_failed_task_shows_the_type_of_its_exception(cli: Cli) -> None:
    publish_task(cli.database, "looking-up", max_attempts=1)
    deploy(cli.database, linear("unknown-key", "looking-up"))
    start(cli.database, "unknown-key")
    worker = Worker()

    @worker.task("looking-up")
    async def looking_up(task: Task) -> None:
        raise KeyError("dept")

    run_until_idle(cli.database, worker)
    for command in (["incidents"], ["dead-letters"], ["show", "unknown-key-1"]):
        assert "KeyError: 'dept'" in cli.text(*command)
    assert "until" not in cli.text("show", "unknown-key-1", "--history", 0)


# -- commands -----------------------------------------------------------------------------------


def test_a_warning_says_what_to_type(cli: Cli, tmp_path: Path) -> None:
    drawn = file(tmp_path, "early.bpmn", SENDING.replace("listener", "nobody-yet"))
    assert "Register it with pgbpm destination before" in cli.text("check", drawn)


def test_an_incident_of_a_destination_says_how_to_register_it(cli: Cli) -> None:
    deploy(cli.database, SENDING.replace('id="sending"', 'id="unsent"').replace("listener", "far"))
    start(cli.database, "unsent", 1)
    step = "pgbpm destination far --url …, then pgbpm incidents resolve"
    assert f"unsent-1 → {step}" in cli.text("incidents")
    assert step in cli.text("show", "unsent-1")


def test_what_went_wrong_with_a_command_is_said_in_words() -> None:
    assert error_words({"error": "AddressRefused", "message": "it is private"}) == (
        "AddressRefused: it is private"
    )
    assert error_words({"status": 502}) == {"status": 502}
    assert error_words(None) is None


def test_outbox_and_reconcile(cli: Cli) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    told = cli.json(
        "destination", "listener", "--url", url, "--header", "X-Shop=7", "--timeout", "2",
        "--max-attempts", "1", "--lease", "2 seconds", "--secret", "env:LISTENER",
    )  # fmt: skip
    assert told == {"code": "listener", "url": url}
    deploy(cli.database, SENDING)
    start(cli.database, "sending", 2)
    commands = by_key(cli.json("outbox"))
    assert [(row["state"], row["destination_code"]) for row in commands] == [
        ("Pending", "listener")
    ] * 2
    assert "listener" in cli.text("outbox", "list", "--state", "Pending")
    assert "no commands" in cli.text("outbox", "list", "--state", "Sent")
    # A runner that took both and died: nobody knows whether they arrived.
    cli.database.rows("select * from bpm.claim_commands('gone', 2)")
    cli.database.rows(
        "update bpm_core.outbox o set lease_until = clock_timestamp() where o.state = 'Sending'"
    )
    cli.database.rows("select * from bpm.tick()")
    assert {row["state"] for row in cli.json("outbox")} == {"Unknown"}
    unknown = by_key(cli.json("outbox", "unknown"))
    assert [row["business_key"] for row in unknown] == ["sending-1", "sending-2"]
    nothing_settled = cli("outbox", "again", "sending-3", "--reason", "lost", code=1)
    assert "no command that is Sent or Failed fits 'sending-3'" in nothing_settled.stderr
    settled = cli.json(
        "outbox", "reconcile", commands[1]["command_id"], "--outcome", "Sent",
        "--var", "found=true", "--reason", "asked them",
    )  # fmt: skip
    assert settled["state"] == "Sent"
    assert "Failed" in cli.text(
        "outbox", "reconcile", "sending-1", "--outcome", "Failed", "--reason", "never came"
    )
    cli("outbox", "reconcile", "sending-1", "--outcome", "Perhaps", code=2)
    assert "DeliveryFailed: never came" in cli.text("dead-letters")
    assert "DeliveryFailed: never came." in cli.text("incidents")
    (told,) = [r for r in cli.json("trail", "sending-1") if r["kind"] == "CommandReconciled"]
    assert (told["what"], told["note"]) == ("command reconciled: Failed", "never came")
    # By key, too, a repeated call gets the first answer.
    assert "Failed" in cli.text("outbox", "reconcile", "sending-1", "--outcome", "Failed")
    assert "no commands of unknown fate" in cli.text("outbox", "unknown")
    by_its_key = cli.json("outbox", "again", "sending-1", "--reason", "lost there")
    assert (by_its_key["again_of"], by_its_key["is_new"]) == (commands[0]["command_id"], True)
    again = cli.json("outbox", "again", commands[1]["command_id"], "--reason", "lost there")
    assert (again["again_of"], again["is_new"]) == (commands[1]["command_id"], True)
    assert cli.json("turn", "listener", "Open", "--reason", "they move")["state"] == "Open"
    (listener,) = [d for d in cli.json("destinations") if d["code"] == "listener"]
    assert (listener["state"], listener["reason"]) == ("Open", "they move")
    assert "they move" in cli.text("destinations")
    cli("turn", "listener", "Closed", "--reason", "moved")
    cli.json("destination", "mailing", "--kind", "smtp", "--config", '{"host": "h", "from": "a@b"}')
    cli("destination", "mailing", "--kind", "smtp", "--config", "host", code=2)


# -- what comes in ------------------------------------------------------------------------------


def test_subscriptions(fresh_cli: Cli) -> None:
    cli = fresh_cli
    assert "nobody is told" in cli.text("events", "subscriptions")
    assert "no such type" in cli("events", "subscribe", "x", "--type", "MoonRose", code=1).stderr
    made = cli.json("events", "subscribe", "mine", "--type", "InstanceStarted", "--actor", "ann")
    assert made["event_types"] == ["InstanceStarted"]
    assert "warehouse" in cli.text("events", "subscribe", "warehouse", "--channel", "heard")
    assert "nothing new" in cli.text("events", "read", "mine")
    deploy(cli.database, linear("told", "work"))
    for key in ("T-1", "T-2"):
        cli("start", "told", "--key", key)
    cli.database.rows("select * from bpm.tick()")
    status = cli.text("status")
    assert "mine 2 events behind since" in status
    assert "warehouse 2 events behind" in status
    kept = cli.json("events", "read", "mine", "--limit", 1, "--keep")
    (first,) = cli.json("events", "read", "mine", "--limit", 1)
    assert [first] == kept
    assert first["business_key"] == "T-1"
    assert "T-2" in cli.text("events", "read", "mine")
    assert cli.json("events", "read", "mine") == []
    assert "no subscription" in cli("events", "read", "nobody", code=1).stderr
    claim = "select * from bpm.claim_domain_events('etl', 1, p_subscription => 'warehouse')"
    assert len(cli.database.rows(claim)) == 1
    assert "etl is being told" in cli("events", "read", "warehouse", code=1).stderr
    listed = cli.text("events", "subscriptions")
    assert "channel heard" in listed
    assert "asks" in listed
    cli("events", "unsubscribe", "warehouse", "--reason", "enough")
    assert "(ended)" in cli.text("events", "subscriptions")
    cli.database.rows("select bpm.advance_clock('31 days')")
    assert {"what": "event_outbox", "action": "Forgot 2", "detail": ""} in cli.json("maintain")


def test_events_and_rules(cli: Cli) -> None:
    deploy(cli.database, linear("incoming", "a-task"))
    for n in range(1, 7):
        accepted = cli.json(
            "events", "accept", "shop", f"e-{n}", "bill.paid", "--var", f"n={n}", "--session", "eu"
        )
        assert (accepted["is_new"], accepted["dispatch_state"]) == (True, "Pending")
    again = ("events", "accept", "shop", "e-1", "bill.paid", "--var", "n=1", "--session", "eu")
    assert cli.json(*again)["is_new"] is False
    assert "BP409" in cli("events", "accept", "shop", "e-1", "x", "--session", "eu", code=1).stderr
    assert "no events" in cli.text("events", "list", "--state", "Failed")
    assert len(cli.json("events", "--type", "bill.paid", "--limit", 4)) == 4
    # By hand
    done = cli.json(
        "events", "dispatch", "e-1", "--process", "incoming", "--key", "I-1", "--reason", "mine"
    )
    assert (done["dispatch_state"], len(done["process_instance_ids"])) == ("Dispatched", 1)
    assert cli.json("events", "dispatch", "e-2", "--attach", "--key", "I-1")["business_case_id"]
    sent = cli.json("events", "dispatch", "e-3", "--message", "m", "--key", "K", "--var", "a=1")
    assert sent["dispatch_state"] == "Dispatched"
    assert "Ignored" in cli.text("events", "ignore", "e-4", "--reason", "old")
    decided = cli.json(
        "events",
        "dispatch",
        "e-5",
        "--decision",
        '{"actions": [{"action": "Attach", "business_key": "I-1"}]}',
    )
    assert decided["is_new"] is True
    assert "decided otherwise" in cli("events", "ignore", "e-5", "--reason", "x", code=1).stderr
    cli("events", "dispatch", "e-6", code=2)
    cli("events", "dispatch", "e-6", "--process", "incoming", "--message", "m", code=2)
    cli("events", "dispatch", "e-6", "--decision", "[]", code=2)
    cli("events", "dispatch", "e-6", "--decision", "{}", "--key", "k", code=2)
    assert "no event that waits" in cli("events", "ignore", "e-9", "--reason", "x", code=1).stderr
    shown = cli.json("events", "show", "e-1")
    assert shown["decision"]["reason"] == "mine"
    assert [link["how"] for link in shown["links"]] == ["Started"]
    assert "Started" in cli.text("events", "show", "e-1")
    # By rules
    assert "no routing rules" in cli.text("rules")
    rule = ("rules", "set", "bills", "bill.*", "StartProcess", "--process", "incoming")
    more = ("--when", "${payload.n > 5}", "--key", "payload.n", "--map", "number=${payload.n}")
    assert cli.json(*rule, *more, "--priority", 3) == {"code": "bills", "is_new": True}
    cli.database.rows("select * from bpm.tick()")
    shown = cli.json("events", "show", "e-6")
    assert (shown["dispatch_state"], shown["decision"]["rules"]) == ("Dispatched", ["bills"])
    assert "${payload.n > 5}" in cli.text("rules", "list")
    assert (
        cli.json("rules", "set", "bills", "bill.*", "Ignore", "--reason", "late")["is_new"] is False
    )
    assert (
        "payload.x" in cli("rules", "set", "x", "x", "Ignore", "--when", "${x > 1}", code=1).stderr
    )
    cli("rules", "set", "x", "x", "Explode", code=2)
    cli("rules", "set", "x", "x", "StartProcess", "--process", "incoming", "--map", "x", code=2)
    assert cli.json("rules", "delete", "bills") == {"code": "bills"}
    assert "BP404" in cli("rules", "delete", "bills", code=1).stderr


# -- record, identity ----------------------------------------------------------------------------


def test_record(cli: Cli) -> None:
    deploy(cli.database, linear("recorded", "note"))
    start(cli.database, "recorded", 2)
    worker = Worker()
    piece = {"object_key": "scans/1.pdf", "sha256": "0" * 64}

    @worker.task("note")
    def note(task: Task) -> Done:
        fact = {"subject_type": "order", "subject_key": "O-1", "name": "total", "evidence": [0]}
        return Done(evidence=[piece], facts=[{**fact, "value": task.variables["n"]}])

    run_until_idle(cli.database, worker)
    now = cli.json("facts", "order", "O-1")
    assert [(row["name"], row["is_current"], row["subject_version"]) for row in now] == [
        ("total", True, 2)
    ]
    assert len(cli.json("facts", "order", "O-1", "--history")) == 2
    assert "total" in cli.text("facts", "order", "O-1")
    assert "nothing is known" in cli.text("facts", "order", "O-2")
    [evidence] = now[0]["evidence_ids"]
    gone = cli.json("purge-evidence", evidence, "--reason", "asked for")
    assert (gone["object_key"], gone["is_new"]) == ("scans/1.pdf", True)
    cli("purge-evidence", evidence, code=2)
    assert "BP404" in cli("purge-evidence", UUID(int=1), "--reason", "x", code=1).stderr


def test_identity(fresh_cli: Cli) -> None:
    cli = fresh_cli
    cli.database.rows("create schema host_of_cli")
    cli.database.rows("create table host_of_cli.account (code text primary key)")
    cli.database.rows("select bpm.create_tenant('A', 'a')")
    assert "nothing is tied" in cli.text("identity")
    tie = ("identity", "attach", "tenant", "tenant_id", "host_of_cli.account", "code")
    assert "grant usage on schema host_of_cli to bpm_owner" in cli(*tie, code=1).stderr
    cli.database.rows("grant usage on schema host_of_cli to bpm_owner")
    cli.database.rows("grant select, references on host_of_cli.account to bpm_owner")
    assert cli.json(*tie) == {"identity": "host_tenant_id", "is_new": True, "missing": 1}
    assert cli.json("identity", "report")[0]["samples"] == [["a"]]
    refused = cli("identity", "validate", "host_tenant_id", code=1).stderr
    assert "The host completes them; see pgbpm identity." in refused
    cli.database.rows("insert into host_of_cli.account values ('a')")
    assert cli.json("identity", "validate", "host_tenant_id")["is_new"] is True
    assert cli.json("identity")[0]["is_valid"] is True
    assert cli.json("identity", "detach", "host_tenant_id")["action"] == "Detached"


# -- run ----------------------------------------------------------------------------------------


def test_run_until_idle(fresh_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(fresh_cli.database, caught("running-it", "ring", "nobody-home"))
    start(fresh_cli.database, "running-it", 5)
    (tmp_path / "ringing_app.py").write_text(
        "from pgbpm.worker import BpmnError, Worker\n"
        "worker = Worker()\n"
        "@worker.task('ring')\n"
        "def ring(task):\n"
        "    if task.variables['n'] == 2:\n"
        "        raise BpmnError('nobody-home')\n"
    )
    monkeypatch.chdir(tmp_path)
    answer = fresh_cli.json(
        "run", "--app", "ringing_app", "--until-idle", "--idle-grace", 0, "--worker-name", "me"
    )
    assert answer == {"runner": "me", "counts": {"Completed": 4, "Thrown": 1}}
    assert {row["status"] for row in fresh_cli.json("ps")} == {"Completed"}
    by = fresh_cli.database.rows("select distinct e.worker_id from bpm.execution e")
    assert [row["worker_id"] for row in by] == ["me"]


def test_every_command_has_json_and_help(cli: Cli) -> None:
    for name in (
        "deploy", "check", "definitions", "destination", "start", "run", "ps", "show", "tasks",
        "complete", "approvals", "approve", "reject", "outbox", "dead-letters", "incidents",
        "message", "signal", "starts", "cancel", "suspend", "resume", "move", "skip",
        "transfer", "restart", "destinations", "turn",
        "transfer", "restart", "events", "rules", "facts", "purge-evidence", "identity",
    ):  # fmt: skip
        text = cli.text(name, "--help")
        assert "--json" in text, name
        assert len(text.splitlines()) > 4


# -- who may what -------------------------------------------------------------------------------


def test_a_tenant_that_is_not_ours_is_told(cli: Cli) -> None:
    deploy(cli.database, linear("for-tenants", "a-task"))
    for command in ("ps", "tasks", "definitions", "incidents", "outbox"):
        result = cli("--tenant", "nope", command)
        assert "warning: tenant 'nope' is unknown or not granted" in result.stderr, command
    assert cli("ps", "--key", "never-there").stderr == ""


def test_a_missing_role_is_named(fresh_cli: Cli) -> None:
    database = fresh_cli.database
    name = f"{database.name}_reader"
    database.rows(f'create role "{name}" login')
    url = psycopg.conninfo.make_conninfo(database.url, user=name)
    try:
        for roles, command, hint in [
            ([], ["ps"], "grant bpm_reader to this login"),
            ([], ["run", "--until-idle"], "grant bpm_worker to this login"),
            (["bpm_reader"], ["start", "x"], f"grant bpm_worker to {name}"),
            (["bpm_reader"], ["set", str(UUID(int=1)), "--var", "a=1"],
             f"grant bpm_operator to {name}"),
            ([], ["--tenant", "", "run", "--until-idle"], "grant bpm_worker to this login"),
        ]:  # fmt: skip
            for role in roles:
                database.rows(f'grant {role} to "{name}"')
            result = CliRunner().invoke(root, ["--database-url", url, *command])
            assert result.exit_code == 1, result.output
            assert "error 42501" in result.stderr
            assert hint in result.stderr
        result = CliRunner().invoke(root, ["--database-url", url, "run", "--until-idle"])
        assert result.exit_code == 1
        assert f"error BP403: role {name} is granted worker for no active tenant" in result.stderr
    finally:
        database.rows(f'drop owned by "{name}"')
        database.rows(f'drop role "{name}"')


def test_hints_name_commands() -> None:
    said = hints.in_commands("See the view bpm.definition; deploy with bpm.deploy_bpmn.")
    assert said == "See pgbpm definitions; deploy with pgbpm deploy."
    assert hints.in_commands("bpm.grant_access(…)") == "bpm.grant_access(…)"
    missing = [
        words.split()[1]
        for words in hints._COMMANDS.values()
        if words.split()[1] not in root.commands
    ]
    assert missing == []

"""I-20: encrypted values never appear in clear. A whole run on a server of its own that logs
everything; then every place anything could have got to is searched."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.driver.runner_kit import (
    HEAD,
    deploy,
    linear,
    publish_task,
    run_until_idle,
    runner_process,
    start,
)
from tests.driver.test_cli_commands import Cli
from tests.driver.test_cli_commands import cli as cli
from tests.driver.test_cli_commands import fresh_cli as fresh_cli
from tests.support import database as support
from tests.support.database import TestDatabase

from pgbpm import config, migrations
from pgbpm.cli.app import App
from pgbpm.config import EncryptionConfig, ServerConfig
from pgbpm.devtools import scratch
from pgbpm.encryption import KeyRing, new_key, read_key
from pgbpm.errors import ConfigError
from pgbpm.server import EmbeddedServer, ephemeral_server
from pgbpm.worker import Encrypted, Task, Worker

ZEEBE = "http://camunda.org/schema/zeebe/1.0"
PROCESS = f"""{HEAD}
  <message id="m" name="proof" bpm:correlationKey="${{order}}"/><error id="e" errorCode="declined"/>
  <process id="secret" isExecutable="true">
    <startEvent id="start"/>
    <serviceTask id="release" bpm:type="release" bpm:approval="required"/>
    <serviceTask id="charge" bpm:type="charge"/>
    <boundaryEvent id="no" attachedToRef="charge"><errorEventDefinition errorRef="e"/>
    </boundaryEvent>
    <sendTask id="tell" bpm:type="tell" bpm:destination="psp"/>
    <userTask id="ask"/>
    <intermediateCatchEvent id="wait">
      <messageEventDefinition messageRef="m"/>
    </intermediateCatchEvent>
    <subProcess id="sub"><extensionElements><z:ioMapping xmlns:z="{ZEEBE}">
        <z:input source="= ssn" target="tax_id"/></z:ioMapping></extensionElements>
      <startEvent id="in"/><serviceTask id="report" bpm:type="report"/><endEvent id="out"/>
      <sequenceFlow id="s1" sourceRef="in" targetRef="report"/>
      <sequenceFlow id="s2" sourceRef="report" targetRef="out"/></subProcess>
    <exclusiveGateway id="which" default="f9"/>
    <endEvent id="end"/>
    <sequenceFlow id="f1" sourceRef="start" targetRef="release"/>
    <sequenceFlow id="f2" sourceRef="release" targetRef="charge"/>
    <sequenceFlow id="f3" sourceRef="charge" targetRef="end"/>
    <sequenceFlow id="f4" sourceRef="no" targetRef="tell"/>
    <sequenceFlow id="f5" sourceRef="tell" targetRef="ask"/>
    <sequenceFlow id="f6" sourceRef="ask" targetRef="wait"/>
    <sequenceFlow id="f7" sourceRef="wait" targetRef="sub"/>
    <sequenceFlow id="f8" sourceRef="sub" targetRef="which"/>
    <sequenceFlow id="f9" sourceRef="which" targetRef="end"/>
    <sequenceFlow id="f10" sourceRef="which" targetRef="ask"><conditionExpression>${{ssn == "x"}}
    </conditionExpression></sequenceFlow>
  </process></definitions>"""

HANDLERS = """
import json, os
from pgbpm.worker import BpmnError, Encrypted, NonRetryable, Task, Worker

SECRETS = json.loads(os.environ["SECRETS"])
worker = Worker()

@worker.task("release")
def release(task: Task):
    assert task.variables["ssn"] == SECRETS["ssn"]
    return {"released": True, "ssn": task.variables["ssn"], "pin": Encrypted(SECRETS["pin"])}

@worker.task("charge")
async def charge(task: Task):
    card, ssn, pin = task.variables["card"], task.variables["ssn"], task.variables["pin"]
    if task.attempt == 1:
        try:
            {}[ssn]
        except KeyError as error:
            raise RuntimeError(f"{card} of {ssn!r} ({pin}): {json.dumps(card)}") from error
    if task.attempt == 2:
        raise NonRetryable(f"no cover on {card['number'].upper()}, {ssn}, {pin}")
    raise BpmnError("declined", f"{card['number']}: {SECRETS['reason']}",
                    {**task.variables, "reason": Encrypted({"why": [SECRETS["reason"]]})})

@worker.task("report")
def report(task: Task):
    given = task.variables
    assert given["tax_id"] == given["ssn"] == SECRETS["ssn"]
    assert given["reason"] == {"why": [SECRETS["reason"]]}
    assert (given["answer"], given["proof"]["code"]) == (SECRETS["answer"], SECRETS["proof"])
    return {"reported": True, "tax_id": given["tax_id"]}
"""


@pytest.fixture
def server() -> Iterator[tuple[TestDatabase, EmbeddedServer]]:
    """A server that logs every statement with its parameters."""
    settings = ServerConfig(bin_dir=str(scratch.test_binaries().bin_dir), durable=False)
    with ephemeral_server(settings) as embedded:
        url = support.make_template(embedded.url)
        with psycopg.connect(embedded.url, autocommit=True) as conn:
            for setting in (
                "log_statement = 'all'", "log_parameter_max_length = -1",
                "log_parameter_max_length_on_error = -1", "log_error_verbosity = verbose",
                "log_min_messages = debug1",
            ):  # fmt: skip
                conn.execute(sql.SQL("alter system set {}").format(sql.SQL(setting)))
            conn.execute("select pg_reload_conf()")
        yield TestDatabase(url), embedded


@contextlib.contextmanager
def echo() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A receiver that answers with what it was told, in body and header."""
    told: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.append(json.loads(body))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Request-Id", told[-1]["card"]["number"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_address[1]}", told
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


@dataclasses.dataclass
class Search:
    """Looks for markers, in any letter case."""

    markers: dict[str, bytes]
    found: list[str] = dataclasses.field(default_factory=list)
    places: int = 0

    def look(self, where: str, content: str | bytes) -> None:
        content = content.encode() if isinstance(content, str) else content
        self.places += 1
        lowered = content.lower()
        self.found += [f"{name} in {where}" for name, m in self.markers.items() if m in lowered]


def every_table(database: TestDatabase) -> Iterator[tuple[str, str]]:
    """Each table and view of ours with all its rows as text, from the catalog."""
    with database.connect() as conn:
        relations = conn.execute(
            "select c.oid::regclass::text as name, c.relkind::text as kind from pg_class c"
            " where c.relnamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)"
            "   and c.relkind in ('r', 'p', 'v', 'm') order by 1"
        ).fetchall()
        assert len(relations) > 60
        for relation in relations:
            rows = conn.execute(
                f"select to_jsonb(t)::text || t::text as row from {relation['name']} t"
            )
            yield relation["name"], "\n".join(row["row"] for row in rows)


def run(database: TestDatabase, folder: Path) -> None:
    """A runner process until it is idle."""
    arguments = ("--until-idle", "--idle-grace", "1", "--verbose", "--log-json")
    with runner_process(database, "handlers:worker", folder, *arguments) as process:
        assert process.wait(60) == 0, (folder / "runner.log").read_text()


@pytest.mark.timeout(120)
def test_no_clear_value_anywhere(
    server: tuple[TestDatabase, EmbeddedServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, embedded = server
    names = ("ssn", "card", "pin", "reason", "answer", "proof", "later")
    values = {name: f"Zq{secrets.token_hex(7)}" for name in names}
    search = Search({name: value.lower().encode() for name, value in values.items()})
    monkeypatch.setattr(migrations, "run", lambda conn, folder=None: [])
    monkeypatch.setenv("SECRETS", json.dumps(values))
    monkeypatch.setenv("KEY_1", new_key())
    monkeypatch.setenv("BPM__ENCRYPTION__KEYS", "k1=env:KEY_1")
    monkeypatch.setenv("BPM__ENCRYPTION__VARIABLES", "ssn,card.*,answer,proof")
    monkeypatch.setenv("BPM__ENCRYPTION__RENAMED", "tax_id=ssn")
    monkeypatch.setenv("BPM__DELIVERY__ALLOW_PRIVATE_ADDRESSES", "true")
    (tmp_path / "handlers.py").write_text(HANDLERS, encoding="utf-8")
    cli = Cli(database)
    said: list[str] = []

    def pgbpm(*arguments: object, code: int = 0) -> str:
        result = cli(*arguments, code=code)
        said.append(result.output)
        return result.stdout

    with echo() as (url, told):
        monkeypatch.setenv("BPM__ENCRYPTION__CLEAR_TO", f"{url}=card.number")
        publish_task(database, "charge", max_attempts=2, backoff="100 milliseconds")
        deploy(database, PROCESS)
        pgbpm("destination", "psp", "--url", f"{url}/told")
        starting = (
            "start", "secret", "--key", "S-1", "--idempotency-key", "I-1",
            "--var", f"ssn={values['ssn']}", "--var", "order=O-1",
            "--var", "card=" + json.dumps({"number": values["card"], "holder": None}), "--json",
        )  # fmt: skip
        assert json.loads(pgbpm(*starting))["is_new"]
        assert not json.loads(pgbpm(*starting))["is_new"]  # the same call is the same text
        pgbpm("approvals")
        pgbpm("approve", "S-1", "--note", "fine")
        run(database, tmp_path)
        assert "NonRetryable: no cover on (redacted), (redacted), (redacted)" in pgbpm(
            "dead-letters"
        )
        pgbpm("dead-letters", "--json")
        pgbpm("incidents", "--json")
        pgbpm("dead-letters", "requeue", "S-1")
        run(database, tmp_path)
        assert [body["card"] for body in told] == [{"number": values["card"], "holder": None}]
        assert told[0]["ssn"].startswith("__encrypted:1:k1:")
        pgbpm("outbox", "--json")
        pgbpm("complete", "S-1", "--var", f"answer={values['answer']}")
        pgbpm("message", "proof", "O-1", "--variables",
              json.dumps({"proof": {"code": values["proof"]}}), "--id", "M-1")  # fmt: skip
        run(database, tmp_path)
        assert "ssn is encrypted" in pgbpm("incidents")
        for command in (["show", "S-1"], ["ps"], ["tasks"], ["doctor"], ["status"], ["keys"]):
            shown = pgbpm(*command)
            pgbpm(*command, "--json")
            if command[0] == "show":
                assert "(encrypted, key k1)" in shown
        clear = cli("show", "S-1", "--decrypt").stdout  # on purpose, and not among what was said
        assert values["ssn"] in clear
        assert values["reason"] in clear
        pgbpm("set", "S-1", "--var", f"ssn={values['later']}")
        assert "(encrypted, key k1)" in said[-1]
        pgbpm("skip", "S-1", "--at", "which", "--flow", "f9")
    assert database.value("select i.status from bpm.instance i") == "Completed"
    receipt = database.value("select c.receipt from bpm.command c")
    assert receipt["body"]["card"] == {"number": "(redacted)", "holder": None}
    assert receipt["headers"]["x-request-id"] == "(redacted)"
    database.audit()

    for name, rows in every_table(database):
        search.look(f"table {name}", rows)
    for call in ("bpm.metrics()", "bpm.ready()"):
        search.look(call, str(database.rows(f"select {call}")))
    search.look("what commands said", "\n".join(said))
    runner_log = (tmp_path / "runner.log").read_text(encoding="utf-8")
    assert '"level": "debug"' in runner_log
    assert "RuntimeError: {" in runner_log
    search.look("the log of the runners", runner_log)
    server_log = (embedded.state_dir / "server.log").read_bytes()
    assert b"__encrypted:1:k1:" in server_log
    assert b"pg_notify" in server_log
    search.look("the log of the server", server_log)
    database.rows("checkpoint")
    files = [file for file in (embedded.state_dir).rglob("*") if file.is_file()]
    for file in files:
        with contextlib.suppress(FileNotFoundError, PermissionError):
            search.look(f"file {file.relative_to(embedded.state_dir)}", file.read_bytes())
    assert not search.found
    assert search.places > 500
    # and the search finds what is there
    search.look("itself", f"x{values['ssn'].upper()}x")
    assert search.found == ["ssn in itself"]


# -- rotation ------------------------------------------------------------------------------------


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2):
        monkeypatch.setenv(f"KEY_{number}", new_key())
    monkeypatch.setenv("BPM__ENCRYPTION__KEYS", "k1=env:KEY_1,k2=env:KEY_2")
    monkeypatch.setenv("BPM__ENCRYPTION__ACTIVE_KEY", "k1")
    monkeypatch.setenv("BPM__ENCRYPTION__VARIABLES", "ssn,card.*")
    monkeypatch.setenv("BPM__ENCRYPTION__RENAMED", "tax_id=ssn")


SCOPED = f"""{HEAD}<process id="scoped" isExecutable="true">
  <startEvent id="start"/>
  <subProcess id="sub"><extensionElements><z:ioMapping xmlns:z="{ZEEBE}">
      <z:input source="= ssn" target="tax_id"/></z:ioMapping></extensionElements>
    <startEvent id="in"/><userTask id="look"/><endEvent id="out"/>
    <sequenceFlow id="s1" sourceRef="in" targetRef="look"/>
    <sequenceFlow id="s2" sourceRef="look" targetRef="out"/></subProcess>
  <endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="sub"/>
  <sequenceFlow id="f2" sourceRef="sub" targetRef="end"/></process></definitions>"""


def key_ids(cli: Cli, key: str) -> list[str]:
    """The keys of ssn and card.number of an instance, and of tax_id of its sub-process."""
    state = cli.json("show", key)
    own = state["instance"]["variables"]
    inner = [scope["variables"]["tax_id"] for scope in state["scopes"]]
    return [text.split(":")[2] for text in (own["ssn"], own["card"]["number"], *inner)]


@pytest.mark.usefixtures("keys")
def test_rotation(fresh_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli = fresh_cli
    deploy(cli.database, SCOPED)
    for number in range(1, 6):
        cli("start", "scoped", "--key", f"R-{number}", "--var", f"ssn=ssn-{number}",
            "--var", 'card={"number": 4111}', "--var", "plain=1")  # fmt: skip
    cli("suspend", "R-2")
    cli("cancel", "R-3")
    cancelled = cli.json("show", "R-3")["instance"]["variables"]
    assert cli.json("keys", "rotate") == {
        "instances": 4, "renewed": 0, "values": 0, "failed": 0,
        "last": cli.json("show", "R-5")["instance"]["process_instance_id"],
    }  # fmt: skip
    monkeypatch.setenv("BPM__ENCRYPTION__ACTIVE_KEY", "k2")
    assert [(row["id"], row["encrypts"], row["problem"]) for row in cli.json("keys")] == [
        ("k1", False, None), ("k2", True, None),
    ]  # fmt: skip
    checked = cli.json("keys", "rotate", "--check")
    assert (checked["to_renew"], checked["values"]) == (4, 12)
    assert key_ids(cli, "R-1") == ["k1", "k1", "k1"]

    first = cli.json("keys", "rotate", "--limit", 1)
    assert (first["instances"], first["renewed"], first["values"]) == (1, 1, 3)
    rest = cli.json("keys", "rotate", "--after", first["last"], "--actor", "ann")
    assert (rest["instances"], rest["renewed"], rest["values"]) == (3, 3, 9)
    for number in (1, 2, 4, 5):
        assert key_ids(cli, f"R-{number}") == ["k2", "k2", "k2"]
    assert cli.json("show", "R-3")["instance"]["variables"] == cancelled
    assert cli.json("keys", "rotate")["renewed"] == 0
    assert "instances  4" in cli.text("keys", "rotate")

    # without the old key what is left of it cannot be opened, and it says so; the rest can
    cli("start", "scoped", "--key", "R-6", "--var", "ssn=ssn-6", "--var", 'card={"number": 1}')
    monkeypatch.setenv("BPM__ENCRYPTION__KEYS", "k2=env:KEY_2")
    shown = cli.json("show", "R-4", "--decrypt")
    assert shown["instance"]["variables"] == {
        "ssn": "ssn-4", "card": {"number": 4111}, "plain": 1,
    }  # fmt: skip
    assert shown["scopes"][0]["variables"] == {"tax_id": "ssn-4"}
    assert 'ssn    "(cannot be decrypted: key k1 is not in the key ring (there: k2))"' in cli.text(
        "show", "R-3", "--decrypt"
    )


CALLING = f"""{HEAD}<process id="calling" isExecutable="true"><startEvent id="start"/>
  <callActivity id="call" calledElement="scoped"/><endEvent id="end"/>
  <sequenceFlow id="f1" sourceRef="start" targetRef="call"/>
  <sequenceFlow id="f2" sourceRef="call" targetRef="end"/></process></definitions>"""


@pytest.mark.usefixtures("keys")
def test_rotation_in_called_and_several_workflows(
    fresh_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli, database = fresh_cli, fresh_cli.database
    for xml in (SCOPED, CALLING):
        deploy(database, xml)
    bindings = [{"binding_key": key, "workflow": "scoped"} for key in ("one", "two")]
    database.rows("select bpm.publish_process('several', %s::jsonb)", [json.dumps(bindings)])
    for code in ("calling", "several"):
        cli("start", code, "--key", code, "--var", "ssn=given", "--var", "plain=1")
        state = cli.json("show", code)
        for number, token in enumerate(t for t in state["tokens"] if t["node_id"] == "look"):
            cli("set", code, "--token", token["token_id"], "--var", f"ssn=own-{number}",
                "--var", 'card={"number": 1}')  # fmt: skip
    monkeypatch.setenv("BPM__ENCRYPTION__ACTIVE_KEY", "k2")
    # each process has ssn, each of the three workflows ssn, card.number, and tax_id in its scope
    assert cli.json("keys", "rotate")["values"] == 2 + 3 * 3
    assert cli.json("keys", "rotate")["values"] == 0
    left = "select w.variables::text as text, w.parent_token_id from bpm.workflow w order by 1"
    for row in database.rows(left):
        assert ":k1:" not in row["text"]
    several = cli.json("show", "several")["instance"]["process_instance_id"]
    seen = []
    for row in database.rows(
        "select w.workflow_instance_id as id from bpm.workflow w where w.process_instance_id = %s"
        " order by 1", [several],
    ):  # fmt: skip
        value = database.value(
            "select bpm.get_variables(p_process_instance_id => %s, p_workflow_instance_id => %s)",
            [several, row["id"]],
        )
        seen.append(app_of(cli).unseal(value)["ssn"])
    assert sorted(seen) == ["own-0", "own-1"]


def app_of(cli: Cli) -> App:
    """What a command would have now."""
    return App(config.load(environ=os.environ))


@pytest.mark.usefixtures("keys")
def test_rotation_reads_again_what_somebody_changed(
    fresh_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between reading and writing somebody else sets the variable: theirs stays."""
    cli = fresh_cli
    deploy(cli.database, SCOPED)
    cli("start", "scoped", "--key", "R-1", "--var", "ssn=old", "--var", 'card={"number": 4111}')
    call = App.call
    changes: list[Any] = [{"ssn": "new"}, {"ssn": "newer"}]

    def meddling(app: App, conn: Any, function: str, **arguments: Any) -> Any:
        if function == "set_variables" and "p_expected" in arguments and changes:
            value = app.vault.seal("", changes.pop(0))[0]
            with cli.database.connect() as other:
                call(app, other, "set_variables", p_variables=value,
                     p_process_instance_id=arguments["p_process_instance_id"])  # fmt: skip
        return call(app, conn, function, **arguments)

    monkeypatch.setenv("BPM__ENCRYPTION__ACTIVE_KEY", "k2")
    monkeypatch.setattr(App, "call", meddling)
    rotated = cli.json("keys", "rotate")
    assert (rotated["renewed"], rotated["failed"], changes) == (1, 0, [])
    assert key_ids(cli, "R-1") == ["k2", "k2", "k2"]
    assert cli.json("show", "R-1", "--decrypt")["instance"]["variables"]["ssn"] == "newer"
    old = KeyRing({"k1": read_key(os.environ["KEY_1"], "k1")}, "k1")
    changes += [{"card": {"number": old.seal("", "card.number", n)}} for n in range(9)]
    cli("set", "R-1", "--variables", json.dumps(changes[-1]))
    failed = cli("keys", "rotate", code=1)
    assert "it changes all the time; try again later" in failed.stderr


@pytest.mark.usefixtures("keys")
def test_what_rotation_cannot_open_is_named(
    fresh_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fresh_cli
    deploy(cli.database, SCOPED)
    forged = "__encrypted:1:k1:" + "A" * 120
    for number, note in ((1, "plain"), (2, forged), (3, "__encrypted:theirs")):
        cli("start", "scoped", "--key", f"R-{number}", "--var", "ssn=1", "--var", f"note={note}",
            "--var", 'card={"number": 4111}')  # fmt: skip
    monkeypatch.setenv("BPM__ENCRYPTION__ACTIVE_KEY", "k2")
    failed = cli("keys", "rotate", "--json", code=1)
    report = json.loads(failed.stdout)
    assert (report["instances"], report["renewed"], report["failed"]) == (3, 2, 1)
    bad = cli.json("show", "R-2")["instance"]["process_instance_id"]
    assert f"{bad}: it was not encrypted with key k1 for tenant ''" in failed.stderr
    assert key_ids(cli, "R-3") == ["k2", "k2", "k2"]


def test_commands_without_keys(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.text("keys").strip() == "no keys: encryption.keys is empty"
    assert "there is no key to encrypt with" in cli("keys", "rotate", code=2).stderr
    key = cli.text("keys", "new").strip()
    assert key != cli.text("keys", "new").strip()
    monkeypatch.setenv("BPM__ENCRYPTION__KEYS", "k1=env:NO_SUCH_KEY")
    monkeypatch.setenv("BPM__ENCRYPTION__VARIABLES", "ssn")
    deploy(cli.database, SCOPED)
    said = cli("start", "scoped", "--var", "ssn=1", code=2).stderr
    assert "encryption.keys: key k1: env:NO_SUCH_KEY is empty or not set" in said
    assert "env:NO_SUCH_KEY is empty" in cli.text("keys")
    cli("start", "scoped", "--var", "plain=1")  # nothing to encrypt: no key needed
    monkeypatch.setenv("NO_SUCH_KEY", key)
    told = cli("start", "scoped", "--var", "ssn=NaN", code=1).stderr
    assert "a variable cannot be stored" in told


# -- the runner ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("keys")
def test_a_runner_without_the_key_serves_who_does_not_look(
    fresh_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = fresh_database
    ring = KeyRing({"k9": bytes(32)}, "k9")
    deploy(database, linear("team", "blind", "reads"))
    publish_task(database, "reads", max_attempts=1)
    start(database, "team", ssn=ring.seal("", "ssn", "123"))
    worker = Worker()
    seen: list[Any] = []

    @worker.task("blind")
    async def blind(task: Task) -> dict[str, Any]:
        seen.append(dict(task.variables))
        return {**task.variables, "done": True}

    @worker.task("reads")
    def reads(task: Task) -> None:
        seen.append(task.variables["ssn"])

    run_until_idle(database, worker, encryption=config.load(environ=os.environ).encryption)
    assert seen == [{"n": 1}]
    error = database.value("select e.error from bpm.execution e where e.error is not null")
    assert error == {
        "type": "SealedError",
        "message": "variable ssn cannot be decrypted: key k9 is not in the key ring (there: k1, k2)"
        " hint: add it to encryption.keys; old keys stay there for as long as values need them",
    }


def test_a_runner_does_not_start_without_its_keys(database: TestDatabase) -> None:
    missing = EncryptionConfig(keys=("k1=env:NO_SUCH_KEY",))
    with pytest.raises(ConfigError, match="key k1: env:NO_SUCH_KEY is empty or not set"):
        run_until_idle(database, Worker(), encryption=missing)


def test_wrapped_values_need_a_key(fresh_database: TestDatabase) -> None:
    database = fresh_database
    deploy(database, linear("wraps", "wrap"))
    publish_task(database, "wrap", max_attempts=1)
    start(database, "wraps")
    worker = Worker()
    worker.task("wrap")(lambda task: {"pin": Encrypted("Zq12345678")})
    run_until_idle(database, worker)
    error = database.value("select e.error from bpm.execution e")
    assert error["type"] == "SealedError"
    assert "variable pin is to be encrypted, and no key is configured here" in error["message"]
    assert "Zq12345678" not in str(list(every_table(database)))

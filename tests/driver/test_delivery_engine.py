"""Commands through the whole line: engine, runner, a receiver that honours keys. A-16."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.driver.runner_kit import (
    HEAD,
    deploy,
    run_until_idle,
    runner_process,
    running,
    start,
    until,
    wait_until,
)
from tests.support.database import TestDatabase

from pgbpm.config import DeliveryConfig
from pgbpm.worker import Worker


def sending(code: str) -> str:
    """A process that sends one command to the destination of its own name."""
    return f"""{HEAD}<process id="{code}" isExecutable="true"><startEvent id="start"/>
      <sendTask id="send" bpm:type="send-{code}" bpm:destination="{code}"/><endEvent id="end"/>
      <sequenceFlow id="f1" sourceRef="start" targetRef="send"/>
      <sequenceFlow id="f2" sourceRef="send" targetRef="end"/></process></definitions>"""


@dataclass
class Receiver:
    """Honours keys: the first request of a key takes effect, others are answered from memory.

    ``script(receiver, times)`` says how the ``times``-th request of a key (from 1) is answered:
    a status, ``drop`` (effect, no answer), or ``hang`` (effect, no answer until the end).
    """

    script: Callable[[int], int | str]
    headers: dict[str, str] = field(default_factory=dict)
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    effects: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: str, body: bytes, headers: dict[str, str]) -> int | str:
        """Note a request and let it take effect if it is to be; the answer."""
        with self.lock:
            self.requests.append({"key": key, "body": body, "headers": headers})
            times = sum(request["key"] == key for request in self.requests)
            answer = self.script(times)
            took = isinstance(answer, str) or 200 <= answer < 300
            if took and not self.effects[key]:
                self.effects[key] += 1
            return answer


@contextlib.contextmanager
def receiver(script: Callable[[int], int | str], **headers: str) -> Iterator[Receiver]:
    """A receiver on the loopback."""
    told = Receiver(script, headers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = told.take(self.headers["Idempotency-Key"], body, dict(self.headers))
            if isinstance(answer, str):
                if answer == "hang":
                    told.over.wait(30)
                self.close_connection = True
                return
            content = json.dumps({"reference": "R-1"}).encode()
            self.send_response(answer)
            for name, value in {"Content-Type": "application/json", **told.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        yield told
    finally:
        told.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def register(
    database: TestDatabase, code: str, url: str, timeout: float = 1, **profile: Any
) -> None:
    """Say where commands for ``code`` go, and deploy the process that sends one."""
    profile = {"backoff": "100 milliseconds", "lease": "2 seconds", **profile}
    given = "".join(f", p_{name} => %({name})s" for name in profile)
    database.rows(
        "select bpm.register_destination(p_code => %(code)s, p_config => %(config)s::jsonb"
        f"{given})",
        {"code": code, "config": json.dumps({"url": url, "timeout_seconds": timeout}), **profile},
    )
    deploy(database, sending(code))


def commands(database: TestDatabase, code: str) -> list[dict[str, Any]]:
    return database.rows(
        "select c.* from bpm.command c where c.destination_code = %s order by c.command_id", [code]
    )


def states(database: TestDatabase, code: str) -> Counter[str]:
    return Counter(row["state"] for row in commands(database, code))


def deliver(database: TestDatabase, **options: Any) -> None:
    run_until_idle(database, Worker(), **options)


def test_a_command_arrives_with_its_key_and_leaves_a_receipt(database: TestDatabase) -> None:
    with receiver(lambda times: 201, ETag="x") as told:
        register(database, "arriving", told.url, receipt_path="body.reference")
        start(database, "arriving", 30, amount=1.10, text="số tiền")
        deliver(database)
    rows = commands(database, "arriving")
    assert {row["state"] for row in rows} == {"Sent"}
    assert rows[0]["receipt"] == {
        "status": 201, "headers": {**rows[0]["receipt"]["headers"], "etag": "x"},
        "body": {"reference": "R-1"},
    }  # fmt: skip
    assert told.effects == Counter(str(row["command_id"]) for row in rows)
    assert len(told.requests) == 30
    by_key = {request["key"]: request for request in told.requests}
    for row in rows:
        assert json.loads(by_key[str(row["command_id"])]["body"]) == row["payload"]


def test_numbers_of_a_payload_arrive_as_they_were_stored(database: TestDatabase) -> None:
    with receiver(lambda times: 200) as told:
        register(database, "exact", told.url)
        database.rows(
            'select * from bpm.start_process(\'exact\', \'{"a": 1.10, "b": 1e2,'
            ' "c": 123456789012345678901234567890.123, "d": 0.00000001}\')'
        )
        deliver(database)
    assert states(database, "exact") == {"Sent": 1}
    assert told.requests[0]["body"] == (
        b'{"a": 1.10, "b": 100, "c": 123456789012345678901234567890.123, "d": 0.00000001}'
    )


def test_dropped_answers_are_asked_for_again_and_take_effect_once(database: TestDatabase) -> None:
    with receiver(lambda times: "drop" if times == 1 else 200) as told:
        register(database, "dropping", told.url, resend_allowed=True)
        start(database, "dropping", 10)
        deliver(database)
    assert states(database, "dropping") == {"Sent": 10}
    assert set(told.effects.values()) == {1}
    assert len(told.requests) == 20
    assert {row["attempt"] for row in commands(database, "dropping")} == {2}


def test_without_leave_to_resend_nobody_guesses(database: TestDatabase) -> None:
    with receiver(lambda times: "drop") as told:
        register(database, "unknowing", told.url)
        start(database, "unknowing", 3)
        deliver(database)
        assert states(database, "unknowing") == {"Unknown": 3}
        deliver(database)
    assert len(told.requests) == 3
    for row in commands(database, "unknowing"):
        database.rows(
            "select * from bpm.reconcile_command(p_command_id => %s, p_outcome => 'Sent',"
            " p_reason => 'asked them')",
            [row["command_id"]],
        )
    assert states(database, "unknowing") == {"Sent": 3}


@pytest.mark.parametrize(
    ("status", "profile", "state"),
    [
        (409, {"conflict_means": "Sent"}, "Sent"),
        (409, {"conflict_means": "Failed"}, "Failed"),
        (422, {}, "Failed"),
        (302, {}, "Failed"),
        (500, {}, "Unknown"),
        (200, {"receipt_path": "body.number"}, "Unknown"),
    ],
)
def test_the_profile_of_the_receiver_decides(
    database: TestDatabase, status: int, profile: dict[str, Any], state: str
) -> None:
    code = f"profile-{status}-{'-'.join(profile.values()) or 'plain'}".lower().replace(".", "-")
    with receiver(lambda times: status) as told:
        register(database, code, told.url, **profile)
        start(database, code)
        deliver(database)
    assert states(database, code) == {state: 1}
    assert len(told.requests) == 1


def test_a_busy_receiver_is_given_time(database: TestDatabase) -> None:
    with receiver(lambda times: 429 if times <= 2 else 200, **{"Retry-After": "1"}) as told:
        register(database, "busy", told.url)
        start(database, "busy")
        deliver(database)
    assert states(database, "busy") == {"Sent": 1}
    assert len(told.requests) == 3


def test_nobody_there_is_tried_again_until_attempts_end(database: TestDatabase) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    register(database, "nobody", url, max_attempts=3)
    start(database, "nobody")
    deliver(database)
    row = commands(database, "nobody")[0]
    assert (row["state"], row["attempt"]) == ("Failed", 3)
    assert row["last_error"]["error"] == "ConnectError"


def test_private_addresses_need_leave(database: TestDatabase) -> None:
    with receiver(lambda times: 200) as told:
        register(database, "private", told.url, max_attempts=1)
        start(database, "private")
        deliver(database, delivery=DeliveryConfig())
    assert states(database, "private") == {"Failed": 1}
    assert told.requests == []


def test_a_runner_told_to_stop_reports_what_it_knows(database: TestDatabase) -> None:
    with receiver(lambda times: "hang") as told:
        register(database, "stopping", told.url, lease="30 seconds")
        database.rows(
            "update bpm_core.destination d set config = d.config || '{\"timeout_seconds\": 25}'"
            " where d.code = 'stopping'"
        )
        start(database, "stopping")

        async def main() -> None:
            async with running(database, Worker(), drain_seconds=0.3):
                await until(lambda: told.requests, "the request is under way")

        asyncio.run(main())
    row = commands(database, "stopping")[0]
    assert (row["state"], row["last_error"]["error"]) == ("Unknown", "Stopped")


@pytest.mark.parametrize("moment", ["after the receiver accepted", "before anything left"])
def test_a_killed_runner_leaves_a_command_unknown_and_it_is_sent_once(
    fresh_database: TestDatabase, tmp_path: Path, moment: str
) -> None:
    """A-16: the runner is killed in the middle; the lease runs out, the key is sent again."""
    (tmp_path / "no_app.py").write_text("from pgbpm.worker import Worker\nworker = Worker()\n")
    accepting = moment.startswith("after")
    with receiver(lambda times: "hang" if times == 1 and accepting else 200) as told:
        register(fresh_database, "killed", told.url, resend_allowed=True, lease="1 second")
        start(fresh_database, "killed")
        if accepting:
            with runner_process(
                fresh_database, "no_app", tmp_path, BPM__DELIVERY__ALLOW_PRIVATE_ADDRESSES="true"
            ) as runner:
                wait_until(lambda: told.requests, "the request is under way")
                runner.send_signal(signal.SIGKILL)
                runner.wait()
        else:
            claimed = fresh_database.rows("select * from bpm.claim_commands('a runner', 1)")
            assert len(claimed) == 1
        assert states(fresh_database, "killed") == {"Sending": 1}

        async def main() -> None:
            async with running(fresh_database, Worker()):
                await until(lambda: states(fresh_database, "killed") == {"Sent": 1}, "sent")

        asyncio.run(main())
    assert list(told.effects.values()) == [1]
    assert len(told.requests) == (2 if accepting else 1)
    kinds = fresh_database.rows(
        "select h.kind from bpm.history h where h.category = 'delivery' order by h.seq"
    )
    assert [row["kind"] for row in kinds] == [
        "CommandWritten", "CommandUnknown", "CommandRetried", "CommandSent",
    ]  # fmt: skip


def test_two_runners_send_every_command_once(database: TestDatabase) -> None:
    with receiver(lambda times: 200) as told:
        # Patient: on a busy machine an answer that comes late would be a command nobody knows of.
        register(database, "shared-sending", told.url, timeout=30, lease="60 seconds")
        start(database, "shared-sending", 100)

        async def main() -> None:
            async with running(database, Worker()), running(database, Worker()):
                await until(
                    lambda: states(database, "shared-sending") == {"Sent": 100}, "all are sent"
                )

        asyncio.run(main())
    assert len(told.requests) == 100
    assert set(told.effects.values()) == {1}


def test_a_receiver_that_can_be_asked_is_asked(database: TestDatabase) -> None:
    """The first answer is lost; GET tells that it arrived, or that it did not."""
    asked: list[str] = []
    with receiver(lambda times: "drop") as told, asking(told, asked) as url:
        register(
            database, "asked", told.url, probe_url=f"{url}{{command_id}}", absent_means="Pending"
        )
        start(database, "asked", 5)
        deliver(database)
    assert states(database, "asked") == {"Sent": 5}
    assert set(told.effects.values()) == {1}
    assert len(told.requests) == len(asked) == 5


@contextlib.contextmanager
def asking(told: Receiver, asked: list[str]) -> Iterator[str]:
    """Where GET with a command's id says whether ``told`` has it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            key = self.path.strip("/")
            asked.append(key)
            self.send_response(200 if told.effects[key] else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

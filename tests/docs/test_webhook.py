"""The webhook of docs/examples/webhook: what is true, forged, repeated, too large, or too early."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import importlib.util
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.blocks import CHECKOUT
from tests.support.database import TestDatabase

EXAMPLE = CHECKOUT / "docs" / "examples" / "webhook" / "receiver.py"
SECRET = "correct horse".replace(" ", "-")
EVENT = {"id": "evt-1", "type": "order.paid", "data": {"order": "A-1"}, "thread": "A-1"}


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("webhook_receiver", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


receiver = _module()


class Sender:
    """A provider that signs what it sends; or somebody who would like to be one."""

    def __init__(self, database: str) -> None:
        self._server = receiver.Server(0, database, [SECRET, "the-one-before"], "shop")
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._port = self._server.server_address[1]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def send(self, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
        """Status and headers of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.putrequest("POST", "/hook")
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            answer.read()
            return answer.status, dict(answer.getheaders())
        finally:
            connection.close()

    def post(self, event: Any, secret: str = SECRET, at: float | None = None) -> int:
        """Send something signed; the status."""
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        headers = {"Content-Length": str(len(body)), "Webhook-Signature": sign(body, secret, at)}
        return self.send(body, headers)[0]


def sign(body: bytes, secret: str = SECRET, at: float | None = None) -> str:
    moment = str(int(time.time() if at is None else at))
    mac = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256)
    return f"t={moment},v1={mac.hexdigest()}"


@pytest.fixture
def sender(fresh_database: TestDatabase) -> Iterator[Sender]:
    sender = Sender(fresh_database.url)
    yield sender
    sender.close()


def _events(database: TestDatabase) -> list[dict[str, Any]]:
    return database.rows("select * from bpm.event order by event_id")


def test_an_event_is_accepted_once(fresh_database: TestDatabase, sender: Sender) -> None:
    """202 when it is committed; a repeat, also one signed anew, is acknowledged, not stored."""
    assert sender.post(EVENT) == 202
    (event,) = _events(fresh_database)
    assert event["channel"] == "shop"
    assert event["provider_event_id"] == "evt-1"
    assert (event["event_type"], event["thread_id"]) == ("order.paid", "A-1")
    assert event["payload"] == {"order": "A-1"}
    assert sender.post(EVENT) == 200
    assert sender.post(EVENT, at=time.time() - 60) == 200
    assert sender.post(EVENT, secret="the-one-before") == 200
    assert len(_events(fresh_database)) == 1
    assert sender.post({**EVENT, "data": {"order": "A-2"}}) == 409
    assert len(_events(fresh_database)) == 1


def test_what_is_forged_is_refused(fresh_database: TestDatabase, sender: Sender) -> None:
    """Without the secret, with another body, another time, an old or a coming one: 401."""
    body = json.dumps(EVENT).encode()
    length = {"Content-Length": str(len(body))}
    signed = sign(body)
    old = sign(body, at=time.time() - 301)
    moved = old.replace(old.split(",")[0], f"t={int(time.time())}")
    signatures = [
        "", "v1=00", signed.replace("v1", "v0"), signed.upper(), moved, old,
        sign(body, at=time.time() + 330), sign(body, "guessed"), sign(body + b" "),
        signed.split(",")[0] + ",v1=" + "0" * 64, signed + ",v1=", signed + "\u00e9",
    ]  # fmt: skip
    for signature in signatures:
        status, _ = sender.send(body, {**length, "Webhook-Signature": signature})
        assert status == 401, signature
    assert sender.send(body, length)[0] == 401
    assert _events(fresh_database) == []


def test_what_is_too_large_is_not_read(fresh_database: TestDatabase, sender: Sender) -> None:
    """413 by what was announced; without an announcement 411."""
    announced = {"Content-Length": str(receiver.MOST_BYTES + 1)}
    assert sender.send(b"", announced)[0] == 413
    assert sender.send(b"", {})[0] == 411
    assert sender.send(b"", {"Content-Length": "-1"})[0] == 411
    largest = {"id": "large", "type": "t", "data": {"a": ""}}
    largest["data"] = {"a": "x" * (receiver.MOST_BYTES - len(json.dumps(largest)))}
    assert sender.post(largest) == 202
    assert len(_events(fresh_database)) == 1


def test_what_is_no_event_is_refused(fresh_database: TestDatabase, sender: Sender) -> None:
    """Signed nonsense: 4xx, so that the provider need not try again."""
    assert sender.post(b"{") == 400
    assert sender.post(b"[" * 100_000) == 400
    assert sender.post([]) == 400
    assert sender.post({"type": "t"}) == 400
    assert sender.post({"id": "1"}) == 400
    assert sender.post({"id": 1, "type": "t"}) == 400
    assert sender.post({"id": "", "type": "t"}) == 400
    assert sender.post({"id": "1", "type": "t", "data": []}) == 400
    assert sender.post({"id": "1", "type": "t", "data": {"a": "__x:1"}}) == 422
    assert sender.post({"id": "1", "type": "t", "occurred_at": "soon"}) == 422
    assert _events(fresh_database) == []


def test_no_database_no_acknowledgement() -> None:
    """503, and when to come back."""
    sender = Sender("host=127.0.0.1 port=1 dbname=nothing user=nobody")
    try:
        body = json.dumps(EVENT).encode()
        status, headers = sender.send(
            body, {"Content-Length": str(len(body)), "Webhook-Signature": sign(body)}
        )
    finally:
        sender.close()
    assert status == 503
    assert headers["Retry-After"] == "30"


def test_no_commit_no_acknowledgement(fresh_database: TestDatabase, sender: Sender) -> None:
    """A database that answers, but cannot take it: 503 now, 202 when it can."""
    with fresh_database.connect() as other, other.transaction():
        other.execute("lock table bpm_core.event in access exclusive mode")
        assert sender.post(EVENT) == 503
    assert _events(fresh_database) == []
    # Refused at the very end: by the commit itself.
    fresh_database.rows(
        "create function bpm_core.no() returns trigger language plpgsql as"
        " $$ begin raise exception 'disk full' using errcode = '53100'; end $$"
    )
    fresh_database.rows(
        "create constraint trigger no after insert on bpm_core.event"
        " deferrable initially deferred for each row execute function bpm_core.no()"
    )
    assert sender.post(EVENT) == 503
    assert _events(fresh_database) == []
    fresh_database.rows("drop trigger no on bpm_core.event")
    assert sender.post(EVENT) == 202


def test_a_secret_there_must_be() -> None:
    with pytest.raises(SystemExit):
        receiver.Server(0, "", [], "shop")

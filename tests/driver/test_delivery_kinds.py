"""Webhooks, mail, kinds of other packages, and asking receivers."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import default
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from tests.driver.test_delivery import LOOPBACK, Received, answering, command, receiver, send

from pgbpm import delivery
from pgbpm.config import DeliveryConfig
from pgbpm.delivery import Deliverer, Report
from pgbpm.sending import Command, Progress
from pgbpm.webhooks import SignatureInvalid, key_of, sign, verify

# -- webhooks ------------------------------------------------------------------------------------

SECRET = "whsec_" + base64.b64encode(b"a key that nobody knows").decode()


def test_a_signature_is_the_one_of_the_standard() -> None:
    """The example of https://www.standardwebhooks.com, made with its own library."""
    headers = sign(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    )
    assert headers["Webhook-Signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_was_signed_is_verified_and_nothing_else() -> None:
    headers = sign("c-1", 1000.9, b"{}", SECRET)
    assert verify(headers, b"{}", SECRET, now=1000) == "c-1"
    lower = {name.lower(): value for name, value in headers.items()}
    assert verify(lower, b"{}", SECRET, now=1299) == "c-1"
    both = {**headers, "Webhook-Signature": f"v1,old {headers['Webhook-Signature']}"}
    assert verify(both, b"{}", SECRET, now=1000) == "c-1"
    for changed, body, secret, now in (
        ({}, b"{ }", SECRET, 1000),
        ({}, b"{}", "another", 1000),
        ({}, b"{}", SECRET, 1301),
        ({}, b"{}", SECRET, 699),
        ({"Webhook-Id": "c-2"}, b"{}", SECRET, 1000),
        ({"Webhook-Timestamp": "1001"}, b"{}", SECRET, 1000),
        ({"Webhook-Timestamp": "now"}, b"{}", SECRET, 1000),
        ({"Webhook-Signature": ""}, b"{}", SECRET, 1000),
        ({"Webhook-Signature": "v1,é"}, b"{}", SECRET, 1000),
    ):
        with pytest.raises(SignatureInvalid):
            verify({**headers, **changed}, body, secret, now=now)
    with pytest.raises(SignatureInvalid, match="webhook-signature"):
        verify({"webhook-id": "c-1", "webhook-timestamp": "1"}, b"", SECRET)


def test_secrets_are_texts_or_base64() -> None:
    assert key_of("abc") == b"abc"
    assert key_of(SECRET) == b"a key that nobody knows"
    with pytest.raises(ValueError):
        key_of("whsec_!!")


def test_a_webhook_carries_a_signature_by_the_clock_of_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOOK", SECRET)
    seen: list[Received] = []

    async def main() -> Report:
        deliverer = Deliverer(LOOPBACK)
        try:
            async with receiver(answering("204 No Content"), seen) as url:
                hook = command(url, kind="webhook", secret_ref="env:HOOK")
                return await deliverer.send(hook, 9, asyncio.Event(), now=86400.0)
        finally:
            await deliverer.close()

    assert asyncio.run(main()).outcome == "Sent"
    (got,) = seen
    assert verify(got.headers, got.body, SECRET, now=86400) == "0190-command"
    assert "authorization" not in got.headers


def test_a_webhook_without_its_secret_does_not_leave() -> None:
    report = send(command("http://127.0.0.1:1/", kind="webhook", secret_ref="env:NO_SUCH_SECRET"))
    assert (report.outcome, report.detail["error"]) == ("NotSent", "SecretMissing")
    assert "local" not in report.detail  # the destination can be sent nothing by this runner


# -- connections ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("honours", "connections"), [(True, 1), (False, 3)])
def test_connections_are_used_again_only_where_keys_are_honoured(
    honours: bool, connections: int
) -> None:
    opened = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
                await reader.readexactly(int(length))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        except asyncio.IncompleteReadError:
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        deliverer = Deliverer(LOOPBACK)
        for _ in range(3):
            report = await deliverer.send(command(url, resend_allowed=honours), 9, asyncio.Event())
            assert report.outcome == "Sent"
        await deliverer.close()
        server.close()

    asyncio.run(main())
    assert opened == connections


# -- asking --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("200 OK", "Found"), ("204 No Content", "Found"), ("202 Accepted", "Unclear"),
        ("404 Not Found", "Absent"), ("410 Gone", "Absent"), ("302 Found", "Unclear"),
        ("401 Unauthorized", "Unclear"), ("500 Oops", "Unclear"), ("429 Slow", "Unclear"),
    ],
)  # fmt: skip
def test_what_a_receiver_says_when_it_is_asked(answer: str, outcome: str) -> None:
    lines: list[str] = []

    async def main() -> Report:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            lines.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(
                f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n".encode()
            )
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        deliverer = Deliverer(LOOPBACK)
        try:
            asked = command(url, probe_url=f"{url}/of/{{command_id}}?a=1")
            return await deliverer.probe(asked, 9, asyncio.Event())
        finally:
            await deliverer.close()
            server.close()

    report = asyncio.run(main())
    assert report.outcome == outcome
    assert report.retry_after == (7 if answer.startswith("429") else None)
    assert lines[0].startswith("GET /of/0190-command?a=1 HTTP/1.1\r\n")


@pytest.mark.parametrize("url", ["", "ftp://x/{command_id}", "http://127.0.0.1:1/{command_id}"])
def test_asking_in_vain_is_unclear(url: str) -> None:
    async def main() -> Report:
        deliverer = Deliverer(LOOPBACK)
        try:
            return await deliverer.probe(
                command("http://127.0.0.1:1/", probe_url=url), 9, asyncio.Event()
            )
        finally:
            await deliverer.close()

    assert asyncio.run(main()).outcome == "Unclear"


# -- mail ----------------------------------------------------------------------------------------


class MailServer:
    """Answers as scripted: the command's first word → answer; ``.`` is the end of the message."""

    def __init__(self, script: dict[str, str]) -> None:
        self.script = script
        self.said: list[str] = []
        self.mails: list[bytes] = []

    def serve(self, sock: socket.socket) -> None:
        stream = sock.makefile("rwb")

        def answer(word: str, usual: str) -> bool:
            text = self.script.get(word, usual)
            if text == "drop":
                return False
            stream.write(f"{text}\r\n".encode())
            stream.flush()
            return True

        if not answer("CONNECT", "220 here"):
            return
        while line := stream.readline():
            said = line.decode().strip()
            self.said.append(said)
            word = said.split(" ", 1)[0].upper()
            usual = {"DATA": "354 go on", "QUIT": "221 bye"}.get(word, "250 well")
            if not answer(word, usual) or word == "QUIT":
                return
            if word == "DATA" and self.script.get("DATA", "354").startswith("354"):
                mail = b""
                while (part := stream.readline()) and part != b".\r\n":
                    mail += part.removeprefix(b".") if part.startswith(b"..") else part
                self.mails.append(mail)
                if not answer(".", "250 queued as Q1"):
                    return


@contextmanager
def mail_server(**script: str) -> Iterator[tuple[MailServer, int]]:
    told = MailServer({name.replace("END", "."): text for name, text in script.items()})
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            try:
                sock, _ = listening.accept()
            except OSError:
                return
            with sock:
                told.serve(sock)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield told, listening.getsockname()[1]
    thread.join(5)


def mail(port: int, payload: str = '{"to": "bo@b.test"}', **config: Any) -> dict[str, Any]:
    made = command("", payload, kind="smtp")
    made["destination"]["config"] = {
        "host": "127.0.0.1", "port": port, "security": "none",
        "from": "Shop <shop@a.test>", "subject": "News", **config,
    }  # fmt: skip
    return made


def test_a_command_is_a_mail() -> None:
    payload = {
        "to": ["bo@b.test", "Cé Cile <ce@c.test>"], "cc": "d@d.test", "subject": "Số tiền",
        "text": "line\n.dot\n..dots", "html": "<b>x</b>",
    }  # fmt: skip
    with mail_server() as (server, port):
        report = send(mail(port, json.dumps(payload, ensure_ascii=False)))
    assert (report.outcome, report.receipt) == (
        "Sent", {"status": 250, "message": "queued as Q1"},
    )  # fmt: skip
    assert [s for s in server.said if s[:4].upper() in {"MAIL", "RCPT"}] == [
        "mail FROM:<shop@a.test>", "rcpt TO:<bo@b.test>", "rcpt TO:<ce@c.test>",
        "rcpt TO:<d@d.test>",
    ]  # fmt: skip
    got = message_from_bytes(server.mails[0], policy=default)
    assert (got["Message-ID"], got["Subject"]) == ("<0190-command@a.test>", "Số tiền")
    text = got.get_body(("plain",))
    assert text is not None
    assert text.get_content().replace("\r\n", "\n") == "line\n.dot\n..dots\n"
    html = got.get_body(("html",))
    assert html is not None
    assert html.get_content().strip() == "<b>x</b>"


def test_without_a_text_the_payload_is_sent() -> None:
    with mail_server() as (server, port):
        assert send(mail(port, '{"sum": 1.10}', to="x@x.test")).outcome == "Sent"
    got = message_from_bytes(server.mails[0], policy=default)
    assert "1.10" in got.get_content()


@pytest.mark.parametrize(
    ("script", "outcome", "left"),
    [
        ({"CONNECT": "554 go away"}, "NotSent", False),
        ({"CONNECT": "drop"}, "NotSent", False),
        ({"MAIL": "451 later"}, "Throttled", False),
        ({"RCPT": "550 nobody"}, "Refused", False),
        ({"RCPT": "drop"}, "NotSent", False),
        ({"DATA": "421 busy"}, "Throttled", False),
        ({"DATA": "drop"}, "NotSent", False),
        ({"END": "drop"}, "Unknown", True),
        ({"END": "452 full"}, "Throttled", True),
        ({"END": "554 spam"}, "Refused", True),
    ],
)  # fmt: skip
def test_what_a_mail_server_says(script: dict[str, str], outcome: str, left: bool) -> None:
    with mail_server(**script) as (server, port):
        report = send(mail(port))
    assert report.outcome == outcome
    assert bool(server.mails) == left
    assert report.detail.get("written", left) == left


@pytest.mark.parametrize(
    "payload",
    ['{"to": "nobody"}', "{}", '{"to": "a@b.test\\r\\nBcc: x@x.test"}',
     '{"to": "a@b.test", "subject": "x\\ny"}', '{"to": "é@b.test"}'],
)  # fmt: skip
def test_what_is_no_mail_does_not_leave(payload: str) -> None:
    report = send(mail(1, payload))
    assert (report.outcome, report.detail["local"]) == ("NotSent", True)


def test_mail_needs_the_security_that_was_asked_for() -> None:
    with mail_server() as (server, port):
        assert send(mail(port, security="starttls")).outcome == "NotSent"
    assert server.mails == []
    with mail_server() as (server, port):
        report = send(mail(port), DeliveryConfig())
    assert (report.outcome, report.detail["error"]) == ("NotSent", "AddressRefused")


def test_a_mail_server_that_drips_holds_nobody() -> None:
    """Its talks end with their time, and keep no thread that resolves names for all others."""

    talks: list[asyncio.StreamWriter] = []
    many = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        talks.append(writer)
        if len(talks) == 20:
            many.set()
        with contextlib.suppress(OSError):
            while not writer.is_closing():
                writer.write(b"220-patience\r\n")
                await writer.drain()
                await asyncio.sleep(0.02)

    def talking() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t.name.startswith("pgbpm-smtp")]

    async def main() -> list[Report]:
        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        deliverer = Deliverer(LOOPBACK)
        stopped = asyncio.Event()
        sendings = [
            asyncio.ensure_future(deliverer.send(mail(port, timeout_seconds=1.0), 30.0, stopped))
            for _ in range(40)
        ]
        await asyncio.wait_for(many.wait(), 5)
        found = asyncio.get_running_loop().getaddrinfo("127.0.0.1", port)
        await asyncio.wait_for(found, 5)
        assert not any(sending.done() for sending in sendings)
        reports = await asyncio.gather(*sendings)
        await deliverer.close()
        server.close()
        return reports

    assert {report.outcome for report in asyncio.run(main())} == {"NotSent"}
    for thread in talking():
        thread.join(10)
    assert talking() == []


def test_mail_that_was_reported_as_not_sent_is_never_sent() -> None:
    """The thread goes on after the report; it must not write the message any more."""
    progress = Progress()
    assert progress.abandon() is False
    with pytest.raises(Exception, match="given up"):
        progress.leaves()
    assert progress.written is False


# -- kinds of other packages ---------------------------------------------------------------------


class Pigeon:
    """A way to send of its own."""

    def __init__(self, config: DeliveryConfig) -> None:
        self.config = config

    async def send(self, command: Command, progress: Progress) -> Report:
        if command.payload["order"] == "early":
            raise RuntimeError("no pigeon")
        progress.leaves()
        if command.payload["order"] == "late":
            raise RuntimeError("lost pigeon")
        return Report("Sent", {"ring": 7})

    async def close(self) -> None: ...


def broken_factory(config: DeliveryConfig) -> Pigeon:
    raise RuntimeError("no loft")


def test_kinds_of_other_packages(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    points = [
        EntryPoint("pigeon", f"{__name__}:Pigeon", "pgbpm.delivery"),
        EntryPoint("owl", f"{__name__}:broken_factory", "pgbpm.delivery"),
    ]
    monkeypatch.setattr(EntryPoint, "load", lambda point: globals()[point.value.split(":")[1]])
    monkeypatch.setattr(delivery, "entry_points", lambda group: points)

    def fly(order: str) -> Report:
        return send(command("", json.dumps({"order": order}), kind="pigeon"))

    assert (fly("A-1").outcome, fly("A-1").detail) == ("Sent", {"ring": 7})
    assert (fly("early").outcome, fly("early").detail["error"]) == ("NotSent", "RuntimeError")
    assert fly("late").outcome == "Unknown"
    assert "no loft" in caplog.text

    async def kinds() -> tuple[list[str], list[str]]:
        deliverer = Deliverer(LOOPBACK)
        await deliverer.close()
        return deliverer.kinds, deliverer.probing_kinds

    assert asyncio.run(kinds()) == (["http", "pigeon", "smtp", "webhook"], ["http", "webhook"])
    report = send(command("", kind="owl"))
    assert (report.outcome, report.detail["local"]) == ("NotSent", True)

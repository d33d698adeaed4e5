"""What a receiver can do to us, and what we report: one misbehaving receiver per case."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import socket
import ssl
import subprocess
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pgbpm.config import DeliveryConfig, EncryptionConfig
from pgbpm.delivery import Deliverer, Report
from pgbpm.encryption import KeyRing
from pgbpm.jsontext import read_exact
from pgbpm.names import Names
from pgbpm.network import is_public
from pgbpm.sealing import Vault
from pgbpm.wire import Address, Answer, Connections

LOOPBACK = DeliveryConfig(allow_private_addresses=True, timeout_s=2.0, max_response_bytes=1000)


@dataclass
class Received:
    """What a receiver saw of one request."""

    line: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@asynccontextmanager
async def receiver(
    behaviour: Callable[[Writer], Awaitable[None]], seen: list[Received] | None = None
) -> AsyncIterator[str]:
    """A server that reads one whole request and then behaves as told; gives its address."""

    async def serve(reader: Reader, writer: Writer) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        names = {name.lower(): value for name, value in headers.items()}
        body = await reader.readexactly(int(names["content-length"]))
        if seen is not None:
            seen.append(Received(head[0], names, body))
        await behaviour(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/orders"


def command(
    url: str, payload: str = '{"order": "A-1", "sum": 1.10}', **destination: Any
) -> dict[str, Any]:
    """A claimed command as the engine hands it out."""
    config = {"url": url, **destination.pop("config", {})}
    return {
        "command_id": "0190-command",
        "fencing_token": 7,
        "destination": {"config": config, "key_header": "Idempotency-Key", **destination},
        "payload": read_exact(payload),
        "payload_hash": hashlib.sha256(payload.encode()).hexdigest(),
    }


def send(cmd: dict[str, Any], config: DeliveryConfig = LOOPBACK) -> Report:
    return asyncio.run(send_async(cmd, config))


async def send_async(
    cmd: dict[str, Any],
    config: DeliveryConfig = LOOPBACK,
    stopped: asyncio.Event | None = None,
) -> Report:
    deliverer = Deliverer(config)
    try:
        return await deliverer.send(cmd, 30.0, stopped or asyncio.Event())
    finally:
        await deliverer.close()


def send_to(
    behaviour: Callable[[Writer], Awaitable[None]],
    seen: list[Received] | None = None,
    **destination: Any,
) -> Report:
    async def main() -> Report:
        async with receiver(behaviour, seen) as url:
            return await send_async(command(url, **destination))

    return asyncio.run(main())


def answering(status: str, *headers: str, body: bytes = b"") -> Callable[[Writer], Awaitable[None]]:
    async def behave(writer: Writer) -> None:
        head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
        writer.write("\r\n".join(head).encode() + body)
        await writer.drain()

    return behave


def raw(
    data: bytes, *, reset: bool = False, hang: float = 0
) -> Callable[[Writer], Awaitable[None]]:
    async def behave(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(hang)
        if reset:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            writer.transport.abort()

    return behave


DATE = "Date: Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    ("behaviour", "outcome", "retry_after"),
    [
        pytest.param(answering("200 OK", body=b"{}"), "Sent", None, id="200"),
        pytest.param(answering("201 Created"), "Sent", None, id="201"),
        pytest.param(answering("204 No Content"), "Sent", None, id="204"),
        pytest.param(answering("301 Moved", "Location: /x"), "Refused", None, id="301"),
        pytest.param(answering("307 Moved", "Location: /x"), "Refused", None, id="307"),
        pytest.param(answering("400 Bad"), "Refused", None, id="400"),
        pytest.param(answering("404 Not Found"), "Refused", None, id="404"),
        pytest.param(answering("409 Conflict"), "Conflict", None, id="409"),
        pytest.param(answering("422 No"), "Refused", None, id="422"),
        pytest.param(answering("429 Slow"), "Throttled", None, id="429"),
        pytest.param(answering("429 Slow", "Retry-After: 7"), "Throttled", 7.0, id="429-7s"),
        pytest.param(answering("500 Oops"), "ReceiverError", None, id="500"),
        pytest.param(answering("502 Oops"), "ReceiverError", None, id="502"),
        pytest.param(answering("503 Busy"), "ReceiverError", None, id="503"),
        pytest.param(answering("503 Busy", "Retry-After: 120"), "Throttled", 120.0, id="503-120s"),
        pytest.param(
            answering("503 Busy", "Retry-After: Wed, 21 Oct 2015 07:28:30 GMT", DATE),
            "Throttled", 30.0, id="503-date-by-the-receivers-clock",
        ),
        pytest.param(
            answering("503 Busy", "Retry-After: Wed, 21 Oct 2015 07:00:00 GMT", DATE),
            "Throttled", 0.0, id="503-date-in-the-past",
        ),
        pytest.param(answering("503 Busy", "Retry-After: soon"), "ReceiverError", None, id="503-?"),
        pytest.param(answering("504 Oops"), "ReceiverError", None, id="504"),
        pytest.param(raw(b""), "Unknown", None, id="closed-without-an-answer"),
        pytest.param(raw(b"", reset=True), "Unknown", None, id="reset-without-an-answer"),
        pytest.param(raw(b"", hang=1), "Unknown", None, id="never-answers"),
        pytest.param(raw(b"SSH-2.0-what\r\n"), "Unknown", None, id="not-http"),
        pytest.param(raw(b"HTTP/1.1 200 OK\r\nContent-"), "Unknown", None, id="half-a-head"),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"),
            "Unknown", None, id="half-a-body",
        ),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", hang=1),
            "Unknown", None, id="body-never-ends",
        ),
        pytest.param(
            raw(b"HTTP/1.1 400 Bad\r\nContent-Length: 10\r\n\r\n{"),
            "Refused", None, id="half-a-body-of-a-refusal",
        ),
    ],
)  # fmt: skip
def test_what_was_seen_is_what_is_reported(
    behaviour: Callable[[Writer], Awaitable[None]], outcome: str, retry_after: float | None
) -> None:
    report = send_to(behaviour)
    assert (report.outcome, report.retry_after) == (outcome, retry_after)


def test_what_is_sent() -> None:
    seen: list[Received] = []
    report = send_to(answering("200 OK"), seen, config={"headers": {"X-Shop": "7"}})
    assert report.outcome == "Sent"
    assert seen[0].line == "POST /orders HTTP/1.1"
    assert seen[0].body == b'{"order": "A-1", "sum": 1.10}'  # the very text that was hashed
    headers = seen[0].headers
    assert headers["idempotency-key"] == "0190-command"
    assert headers["content-type"] == "application/json"
    assert headers["x-shop"] == "7"
    assert "authorization" not in headers


def test_the_key_goes_where_the_profile_says_and_cannot_be_overwritten() -> None:
    seen: list[Received] = []
    send_to(
        answering("200 OK"),
        seen,
        key_header="X-Request-Key",
        config={"headers": {"X-Request-Key": "0"}},
    )
    assert seen[0].headers["x-request-key"] == "0190-command"
    assert "idempotency-key" not in seen[0].headers


def test_redirects_are_not_followed() -> None:
    async def main() -> tuple[Report, list[Received]]:
        seen: list[Received] = []
        async with (
            receiver(answering("200 OK"), seen) as target,
            receiver(answering("307 Over there", f"Location: {target}")) as url,
        ):
            return await send_async(command(url)), seen

    report, seen = asyncio.run(main())
    assert report.outcome == "Refused"
    assert report.receipt is not None
    assert report.receipt["status"] == 307
    assert seen == []


def test_the_receipt() -> None:
    body = json.dumps({"shipment": "S-9", "bad": "\0"}).encode()
    report = send_to(
        answering(
            "201 Created", "Content-Type: application/json; charset=utf-8", "ETag: x",
            "Set-Cookie: s=1", body=body,
        )
    )  # fmt: skip
    assert report.receipt == {
        "status": 201,
        "headers": {"content-type": "application/json; charset=utf-8", "etag": "x"},
        "body": {"shipment": "S-9", "bad": "\ufffd"},
    }


@pytest.mark.parametrize(
    ("header", "body", "kept"),
    [
        ("Content-Type: application/json", b'{"a": NaN}', '{"a": NaN}'),
        ("Content-Type: application/json", b"{broken", "{broken"),
        ("Content-Type: text/plain; charset=latin-1", b"\xfc", "ü"),
        ("Content-Type: text/plain; charset=no-such", "ü".encode(), "ü"),
        ("Content-Type: text/plain; charset=idna", b"a..b", "a..b"),
        ("Content-Type: text/plain; charset=undefined", b"done", "done"),
        ("Content-Type: text/plain; charset=punycode", b"a-" + b"k" * 900, "a-" + "k" * 900),
        ("Content-Type: application/json", b'{"sum": 1e999}', '{"sum": 1e999}'),
        ("X-None: 1", b"\xff\x00", "\ufffd\ufffd"),
        ("Content-Encoding: gzip", b"never asked for", "never asked for"),
    ],
)
def test_odd_bodies_are_kept_as_text(header: str, body: bytes, kept: str) -> None:
    report = send_to(answering("200 OK", header, body=body))
    assert report.outcome == "Sent"
    assert report.receipt is not None
    assert report.receipt["body"] == kept


def test_a_long_body_is_cut_and_the_rest_not_read() -> None:
    report = send_to(answering("200 OK", body=b"x" * 5_000_000))
    assert report.outcome == "Sent"
    assert report.receipt is not None
    assert report.receipt["truncated"] is True
    assert len(report.receipt["body"]) == 1000


def test_a_drip_feeding_receiver_does_not_hold_us() -> None:
    async def drip(writer: Writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    report = send_to(drip)
    assert (report.outcome, report.detail["error"]) == ("Unknown", "Timeout")


def test_the_timeout_of_the_destination_counts() -> None:
    report = send_to(raw(b"", hang=0.3), config={"timeout_seconds": 0.1})
    assert report.detail["error"] == "Timeout"
    assert "0.1 s" in report.detail["message"]


def test_told_to_stop_while_waiting_is_unknown() -> None:
    async def main() -> Report:
        stopped = asyncio.Event()

        async def stop_and_hang(writer: Writer) -> None:
            stopped.set()
            await asyncio.sleep(1)

        async with receiver(stop_and_hang) as url:
            return await send_async(command(url), stopped=stopped)

    report = asyncio.run(main())
    assert (report.outcome, report.detail["error"]) == ("Unknown", "Stopped")


def unused_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://127.0.0.1:UNUSED/", "ConnectError"),
        ("http://no-such-host.invalid/", "ConnectError"),
        ("", "Unsendable"),
        ("ftp://127.0.0.1/", "Unsendable"),
        ("/relative", "Unsendable"),
        ("http://", "Unsendable"),
        ("http://127.0.0.1:99999/", "Unsendable"),
        ("http://127.0.0.1:port/", "InvalidURL"),
    ],
)
def test_what_never_left_is_not_sent(url: str, error: str) -> None:
    report = send(command(url.replace("UNUSED", str(unused_port()))))
    assert (report.outcome, report.detail["error"]) == ("NotSent", error)


def test_a_failed_tls_handshake_is_not_sent() -> None:
    async def main() -> Report:
        async def serve(reader: Reader, writer: Writer) -> None:
            await reader.read(100)
            writer.write(b"HTTP/1.1 400 this is not TLS\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await send_async(command(f"https://127.0.0.1:{port}/"))

    report = asyncio.run(main())
    assert report.outcome == "NotSent"
    assert report.detail["written"] is False


def test_an_unanswered_connect_is_not_sent() -> None:
    """A listening socket whose queue is full drops the handshake."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(0)
        with socket.create_connection(sock.getsockname()), socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(sock.getsockname())
            report = send(command(f"http://127.0.0.1:{sock.getsockname()[1]}/"))
    assert (report.outcome, report.detail["error"]) == ("NotSent", "Timeout")


def test_a_payload_that_does_not_fit_its_hash_is_not_sent() -> None:
    seen: list[Received] = []

    async def main() -> Report:
        async with receiver(answering("200 OK"), seen) as url:
            changed = command(url)
            changed["payload"]["order"] = "A-2"
            return await send_async(changed)

    report = asyncio.run(main())
    assert report.outcome == "NotSent"
    assert "hashed" in report.detail["message"]
    assert seen == []


# -- secrets ------------------------------------------------------------------------------------


def test_secrets_are_looked_up_and_never_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COURIER_TOKEN", "s3cret")
    (tmp_path / "token").write_text("f1le\n")
    for reference, value in (("env:COURIER_TOKEN", "s3cret"), (f"file:{tmp_path}/token", "f1le")):
        seen: list[Received] = []
        report = send_to(answering("401 No"), seen, secret_ref=reference)
        assert seen[0].headers["authorization"] == f"Bearer {value}"
        assert value not in report.item("1", 1)


@pytest.mark.parametrize(
    "reference", ["env:NOT_SET_ANYWHERE", "file:/no/such", "s3cret", "env:", ""]
)
def test_a_missing_secret_keeps_the_command_here(reference: str) -> None:
    seen: list[Received] = []
    report = send_to(answering("200 OK"), seen, secret_ref=reference or "vault:x")
    assert (report.outcome, report.detail["error"]) == ("NotSent", "SecretMissing")
    assert "s3cret" not in report.item("1", 1)  # somebody wrote the secret where its name belongs
    assert seen == []


def test_a_secret_that_would_forge_headers_keeps_the_command_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COURIER_TOKEN", "a\r\nX-Evil: 1")
    seen: list[Received] = []
    report = send_to(answering("200 OK"), seen, secret_ref="env:COURIER_TOKEN")
    assert report.outcome == "NotSent"
    assert "Evil" not in report.item("1", 1)
    assert seen == []


def test_headers_of_one_name_are_one_header() -> None:
    """The key of the command is the one that counts, however a header of ours is written."""
    seen: list[Received] = []

    async def main() -> Report:
        async with receiver(answering("200 OK"), seen) as url:
            headers = {
                "idempotency-key": "always-this",
                "content-type": "text/odd",
                "accept": "a/b",
            }
            return await send_async(command(url, config={"headers": headers}))

    assert asyncio.run(main()).outcome == "Sent"
    names = [name.lower() for name in seen[0].headers]
    assert len(names) == len(set(names))
    sent = {name.lower(): value for name, value in seen[0].headers.items()}
    assert sent["idempotency-key"] == "0190-command"
    assert sent["content-type"] == "text/odd"
    assert sent["accept"] == "a/b"


def test_a_report_that_cannot_be_stored_still_says_what_became_of_it() -> None:
    report = Report("Sent", {"took": float("inf")}, {"body": float("nan")}, 2.0)
    item = read_exact(report.item("0190-command", 7))
    assert (item["command_id"], item["fencing_token"], item["outcome"]) == (
        "0190-command",
        7,
        "Sent",
    )
    assert "not JSON" in item["receipt"]["omitted"]
    assert item["detail"] == item["receipt"]


# -- addresses ----------------------------------------------------------------------------------


def test_private_addresses_are_refused_unless_allowed() -> None:
    seen: list[Received] = []

    async def main() -> list[Report]:
        async with receiver(answering("200 OK"), seen) as url:
            closed = DeliveryConfig()
            return [
                await send_async(command(url), closed),
                await send_async(command(url.replace("127.0.0.1", "localhost")), closed),
                await send_async(command(url.replace("127.0.0.1", "2130706433")), closed),
            ]

    reports = asyncio.run(main())
    assert [report.outcome for report in reports] == ["NotSent"] * 3
    assert all("private address" in report.detail["message"] for report in reports)
    assert seen == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
        ("10.0.0.1", False),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("2002:7f00:1::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("64:ff9b::808:808", True),
        ("64:ff9b:1::808:808", False),
        ("::7f00:1", False),
        ("::ffff:0:10.0.0.1", False),
        ("fec0::1", False),
        ("192.0.0.8", False),
        ("5f00::1", False),
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_the_checked_address_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that resolves to something else the second time gets no second time."""
    asked: list[str] = []
    connected: list[str] = []

    def resolve(host: str, port: int, **options: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port))]

    async def main() -> None:
        async def create_connection(factory: Any, host: str, *rest: Any, **options: Any) -> None:
            connected.append(host)
            raise OSError("far enough")

        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", create_connection)
        names = Names(resolve=resolve)
        address = Address("http", "rebind.example", 80, b"rebind.example", b"/")
        with pytest.raises(OSError, match="far enough"):
            await Connections(names, allow_private=False).exchange(
                "POST", address, [], b"", None, lambda: None, Answer(100)
            )
        names.close()

    asyncio.run(main())
    assert asked == ["rebind.example"]
    assert connected == ["93.184.216.34"]


def test_certificates_are_checked(tmp_path: Path) -> None:
    """A certificate nobody vouches for: the handshake fails, nothing is sent."""
    made = subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
            "-subj", "/CN=x",
            "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert"),
        ],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("no openssl here to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")

    async def main() -> Report:
        async def serve(reader: Reader, writer: Writer) -> None:
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await send_async(command(f"https://127.0.0.1:{port}/"))

    report = asyncio.run(main())
    assert report.outcome == "NotSent"
    assert "certificate" in report.detail["message"].lower()


# -- encrypted values ---------------------------------------------------------------------------


def test_encrypted_values_go_as_they_are_or_in_clear_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEY_1", base64.b64encode(bytes(range(32))).decode())
    ring = KeyRing({"k1": bytes(range(32)), "k9": bytes(32)}, "k1")
    other = KeyRing({"k9": bytes(32)}, "k9")
    card, ssn = ring.seal("acme", "card", {"no": "4111-2222", "sum": 1.5}), ring.seal("", "ssn", 1)
    payload = json.dumps({"ssn": ssn, "card": card, "plain": 1})
    foreign = json.dumps({"card": other.seal("acme", "card", "x")})
    seen: list[Received] = []

    async def echo(writer: Writer) -> None:
        body = seen[-1].body
        writer.write(b"HTTP/1.1 422 No\r\nContent-Type: application/json\r\nContent-Length: ")
        writer.write(f"{len(body)}\r\n\r\n".encode() + body)
        await writer.drain()

    async def main(text: str, tenant: str, *clear_to: str) -> Report:
        async with receiver(echo, seen) as url:
            config = EncryptionConfig(
                keys=("k1=env:KEY_1",), clear_to=tuple(f"{url}{rest}" for rest in clear_to)
            )
            deliverer = Deliverer(LOOPBACK, Vault(config))
            try:
                return await deliverer.send(
                    command(url, text), 30.0, asyncio.Event(), tenant=tenant
                )
            finally:
                await deliverer.close()

    report = asyncio.run(main(payload, "acme"))
    assert seen[-1].body == payload.encode()
    assert (report.outcome, report.receipt and report.receipt["body"]["card"]) == ("Refused", card)

    report = asyncio.run(main(payload, "acme", "=card"))
    assert json.loads(seen[-1].body) == {
        "ssn": ssn, "card": {"no": "4111-2222", "sum": 1.5}, "plain": 1,
    }  # fmt: skip
    assert report.receipt is not None
    assert report.receipt["body"] == {
        "ssn": ssn, "card": {"no": "(redacted)", "sum": "(redacted)"}, "plain": 1,
    }  # fmt: skip
    assert "4111" not in report.item("c", 1)

    count = len(seen)
    closed = ((payload, "acme", "*"), (payload, "", "card"), (foreign, "acme", "card"))
    for text, tenant, place in closed:
        report = asyncio.run(main(text, tenant, f"={place}"))
        assert report.outcome == "NotSent"
        assert report.detail["error"] == "SealedError"
    assert "variable card cannot be decrypted: key k9 is not in the" in report.detail["message"]
    assert len(seen) == count

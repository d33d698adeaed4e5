"""Commands over HTTP, webhooks among them. What each answer means is in :mod:`pgbpm.delivery`."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import httpx

from pgbpm import __version__
from pgbpm.config import DeliveryConfig
from pgbpm.jsontext import storable, write
from pgbpm.names import Names
from pgbpm.secretrefs import resolve_secret
from pgbpm.sending import Command, Progress, Report, Unsendable, broken
from pgbpm.webhooks import sign
from pgbpm.wire import Address, Answer, Connections, Header

KEPT_HEADERS = (
    "content-type", "date", "etag", "last-modified", "location", "retry-after",
    "request-id", "x-request-id", "x-correlation-id", "idempotency-key", "idempotency-replayed",
)  # fmt: skip
_LONGEST_HEADER = 1000
_LONGEST_WAIT = 86400.0
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_KEPT_OPEN_S = 2.0
_NO_CHARSETS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}


_OURS = {
    "accept": ("Accept", "application/json"),
    "accept-encoding": ("Accept-Encoding", "identity"),
    "user-agent": ("User-Agent", f"pgbpm/{__version__}"),
}
_KEPT = {name.encode(): name for name in KEPT_HEADERS}

Headers = dict[str, tuple[str, str]]
"""By lower-case name: of two of one name, however that is written, it would be left to the receiver
which counts, also of the command's key. So a later one replaces an earlier one."""


@lru_cache(256)
def parsed(url: str) -> httpx.URL:
    """An address, read once. Raises ``httpx.InvalidURL``."""
    return httpx.URL(url)


@lru_cache(256)
def _address(text: str) -> Address:
    """Raises ``httpx.InvalidURL``, :class:`Unsendable`."""
    url = parsed(text)
    port = url.port
    if (
        url.scheme not in {"http", "https"}
        or not url.host
        or (port is not None and not 0 < port < 65536)
    ):
        raise Unsendable(f"the destination has no http(s) address: {text!r}")
    return Address(
        url.scheme,
        url.raw_host.decode(),
        port or (443 if url.scheme == "https" else 80),
        url.netloc,
        url.raw_path,
    )


class HttpSender:
    """Posts commands, and asks for them with GET.

    Connections are used again only for receivers that honour keys: one that is closed while it is
    idle makes a command "unknown" that nobody ever saw, and these are sent again.
    """

    def __init__(self, config: DeliveryConfig, names: Names) -> None:
        self._config = config
        self._fresh, self._kept = (
            Connections(names, allow_private=config.allow_private_addresses, keep_s=keep_s)
            for keep_s in (0.0, _KEPT_OPEN_S)
        )

    async def close(self) -> None:
        """Close what is open."""
        self._fresh.close()
        self._kept.close()

    async def send(self, command: Command, progress: Progress) -> Report:
        """Send it once."""
        target = Target.of(command.destination)
        headers: Headers = {"content-type": ("Content-Type", "application/json"), **_OURS}
        headers |= target.headers
        if command.destination.get("kind") == "webhook":
            secret = resolve_secret(target.secret_ref or "")
            signed = sign(command.id, command.sent_at, command.body, secret)
            headers.update((name.lower(), (name, value)) for name, value in signed.items())
        elif target.secret_ref:
            headers["authorization"] = _bearer(target.secret_ref)
        headers[target.key_header.lower()] = (target.key_header, command.id)
        kept = command.destination.get("resend_allowed") is True
        return await self._exchange(
            self._kept if kept else self._fresh,
            command, target.method, target.url, headers, command.body, progress,
        )  # fmt: skip

    async def probe(self, command: Command) -> Report:
        """Ask at the profile's probe address: 2xx (but 202) found, 404 and 410 absent."""
        target = Target.of(command.destination)
        headers: Headers = {**_OURS, **target.headers}
        if target.secret_ref and command.destination.get("kind") != "webhook":
            headers["authorization"] = _bearer(target.secret_ref)
        url = str(command.destination.get("probe_url") or "")
        url = url.replace("{command_id}", quote(command.id, safe=""))
        seen = await self._exchange(self._fresh, command, "GET", url, headers, b"", Progress())
        status = seen.detail.get("status")
        outcome = "Unclear"
        if seen.outcome == "Sent" and status != 202:
            outcome = "Found"
        elif status in {404, 410}:
            outcome = "Absent"
        return Report(outcome, seen.detail, seen.receipt, seen.retry_after)

    async def _exchange(
        self, connections: Connections, command: Command, method: str, url: str, headers: Headers,
        body: bytes, progress: Progress,
    ) -> Report:  # fmt: skip
        limit = command.seconds("timeout_seconds", self._config.timeout_s)
        connect = command.seconds("connect_timeout_seconds", self._config.connect_timeout_s)
        address = _address(url)
        lines = _lines(address, headers, body)
        answer = Answer(self._config.max_response_bytes)
        try:
            async with asyncio.timeout(limit):
                await connections.exchange(
                    method, address, lines, body, connect if connect < limit else None,
                    progress.leaves, answer,
                )  # fmt: skip
            return classify(answer)
        except TimeoutError:
            seen = broken(progress, "Timeout", f"no whole answer within {limit:.1f} s")
        except Exception as error:  # whatever it was: it is reported, not left to the lease
            seen = broken(progress, type(error).__name__, str(error))
        if answer.status and not 200 <= answer.status < 300:
            return classify(answer)  # the status says enough
        return seen


def _lines(address: Address, headers: Headers, body: bytes) -> list[Header]:
    """The head of a request. Raises :class:`Unsendable`."""
    lines: list[Header] = []
    if "host" not in headers:
        lines.append((b"Host", address.host_header))
    for name, value in headers.values():
        if not _TOKEN.fullmatch(name) or not value.isascii() or not value.isprintable():
            raise Unsendable(f"header {name!r} cannot be sent")
        lines.append((name.encode(), value.encode()))
    if body and "content-length" not in headers and "transfer-encoding" not in headers:
        lines.append((b"Content-Length", b"%d" % len(body)))
    return lines


@dataclass(frozen=True, slots=True)
class Target:
    """What a command's frozen destination says about the way to it."""

    url: str
    method: str
    headers: Headers
    key_header: str
    secret_ref: str | None

    @staticmethod
    def of(destination: Mapping[str, Any]) -> Target:
        """Read a destination snapshot: the row of the destination, its ``config`` inside."""
        config = destination.get("config") or {}
        try:
            given = config.get("headers") or {}
            headers = {str(n).lower(): (str(n), str(value)) for n, value in given.items()}
            return Target(
                url=str(config.get("url") or ""),
                method=str(config.get("method") or "POST").upper(),
                headers=headers,
                key_header=str(destination.get("key_header") or "Idempotency-Key"),
                secret_ref=destination.get("secret_ref"),
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise Unsendable(f"the destination is malformed: {error}") from None


def _bearer(secret_ref: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {resolve_secret(secret_ref)}"


def classify(answer: Answer) -> Report:
    """What an answer, or what was read of it, says."""
    status = answer.status
    headers = _kept_headers(answer.headers)
    receipt = {
        "status": status,
        "headers": {name: storable(headers[name])[:_LONGEST_HEADER] for name in headers},
        "body": _body(headers.get("content-type", ""), bytes(answer.body), answer.whole),
    }
    if not answer.whole:
        receipt["truncated"] = True
    detail = {"status": status}
    if 200 <= status < 300:
        return Report("Sent", detail, receipt)
    retry_after = _retry_after(headers)
    if status == 409:
        return Report("Conflict", detail, receipt, retry_after)
    if status == 429 or (status == 503 and retry_after is not None):
        return Report("Throttled", detail, receipt, retry_after)
    return Report("ReceiverError" if status >= 500 else "Refused", detail, receipt)


def _kept_headers(lines: Sequence[Header]) -> dict[str, str]:
    """Those that are kept; several of one name as one, as HTTP says."""
    found: dict[str, str] = {}
    for raw, value in lines:
        name = _KEPT.get(raw)
        if name is not None:
            try:
                text = value.decode()
            except UnicodeDecodeError:
                text = value.decode("iso-8859-1")
            found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def _body(content_type: str, body: bytes, whole: bool) -> Any:
    text = _text(body, _charset(content_type))
    kind = content_type.partition(";")[0].strip().lower()
    if whole and body and (kind == "application/json" or kind.endswith("+json")):
        try:
            said = storable(json.loads(text, parse_constant=_no_constant))
            write(said)  # 1e999 is JSON, but read as a number that is none
            return said
        except (ValueError, RecursionError):
            pass
    return storable(text)


def _charset(content_type: str) -> str:
    if "charset" not in content_type.lower():
        return "utf-8"
    message = Message()
    message["content-type"] = content_type
    return message.get_content_charset("utf-8")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _text(body: bytes, charset: str) -> str:
    """The body as text. Encodings that are not of text, that fail on some bytes whatever is asked
    of them, or that take time with the square of the length, are not used."""
    try:
        if codecs.lookup(charset).name not in _NO_CHARSETS:
            return body.decode(charset, errors="replace")
    except (LookupError, ValueError):
        pass
    return body.decode(errors="replace")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait; a date counts from the receiver's own ``Date``, not from our clock."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), _LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(value)
        since = parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):
        return None
    return _seconds(since, until)


def _seconds(since: datetime, until: datetime) -> float | None:
    if (since.tzinfo is None) != (until.tzinfo is None):
        return None
    return min(max((until - since).total_seconds(), 0.0), _LONGEST_WAIT)

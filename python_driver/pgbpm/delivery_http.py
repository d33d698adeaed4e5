"""Commands over HTTP, webhooks among them. What each answer means is in :mod:`pgbpm.delivery`."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import httpx

from pgbpm import __version__
from pgbpm.config import DeliveryConfig
from pgbpm.jsontext import storable, write
from pgbpm.network import guarded_transport
from pgbpm.secretrefs import resolve_secret
from pgbpm.sending import Command, Progress, Report, Unsendable, broken
from pgbpm.webhooks import sign

KEPT_HEADERS = (
    "content-type", "date", "etag", "last-modified", "location", "retry-after",
    "request-id", "x-request-id", "x-correlation-id", "idempotency-key", "idempotency-replayed",
)  # fmt: skip
_LONGEST_HEADER = 1000
_LONGEST_WAIT = 86400.0
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_KEPT_OPEN_S = 2.0
_NO_CHARSETS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}


@lru_cache(256)
def parsed(url: str) -> httpx.URL:
    """An address, read once. Raises ``httpx.InvalidURL``."""
    return httpx.URL(url)


class HttpSender:
    """Posts commands, and asks for them with GET.

    Connections are used again only for receivers that honour keys: one that is closed while it is
    idle makes a command "unknown" that nobody ever saw, and these are sent again.
    """

    def __init__(self, config: DeliveryConfig) -> None:
        self._config = config
        self._fresh, self._kept = (
            httpx.AsyncClient(
                transport=guarded_transport(
                    allow_private=config.allow_private_addresses,
                    keep_s=keep_s,
                ),
                follow_redirects=False,
                trust_env=False,
            )
            for keep_s in (0.0, _KEPT_OPEN_S)
        )

    async def close(self) -> None:
        """Close what is open."""
        await self._fresh.aclose()
        await self._kept.aclose()

    async def send(self, command: Command, progress: Progress) -> Report:
        """Send it once."""
        target = Target.of(command.destination)
        headers = _merged({"Content-Type": "application/json"}, self._headers(target))
        if command.destination.get("kind") == "webhook":
            secret = resolve_secret(target.secret_ref or "")
            headers = _merged(headers, sign(command.id, command.sent_at, command.body, secret))
        elif target.secret_ref:
            headers = _merged(headers, _bearer(target.secret_ref))
        headers = _merged(headers, {target.key_header: command.id})

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            del info
            if event.endswith("send_request_headers.started"):
                progress.leaves()

        request = self._request(command, target.method, target.url, headers, command.body, trace)
        client = self._kept if command.destination.get("resend_allowed") is True else self._fresh
        return await self._exchange(client, request, self._limit(command), progress)

    async def probe(self, command: Command) -> Report:
        """Ask at the profile's probe address: 2xx (but 202) found, 404 and 410 absent."""
        target = Target.of(command.destination)
        url = str(command.destination.get("probe_url") or "")
        headers = self._headers(target)
        if target.secret_ref and command.destination.get("kind") != "webhook":
            headers = _merged(headers, _bearer(target.secret_ref))
        request = self._request(
            command, "GET", url.replace("{command_id}", quote(command.id, safe="")), headers, b""
        )
        seen = await self._exchange(self._fresh, request, self._limit(command), Progress())
        status = seen.detail.get("status")
        outcome = "Unclear"
        if seen.outcome == "Sent" and status != 202:
            outcome = "Found"
        elif status in {404, 410}:
            outcome = "Absent"
        return Report(outcome, seen.detail, seen.receipt, seen.retry_after)

    def _limit(self, command: Command) -> float:
        return command.seconds("timeout_seconds", self._config.timeout_s)

    def _headers(self, target: Target) -> dict[str, str]:
        ours = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"pgbpm/{__version__}",
        }
        return _merged(ours, target.headers)

    def _request(
        self, command: Command, method: str, url: str, headers: dict[str, str], body: bytes,
        trace: Any = None,
    ) -> httpx.Request:  # fmt: skip
        for name, value in headers.items():
            if not _TOKEN.fullmatch(name) or not value.isascii() or not value.isprintable():
                raise Unsendable(f"header {name!r} cannot be sent")
        limit = self._limit(command)
        connect = command.seconds("connect_timeout_seconds", self._config.connect_timeout_s)
        request = httpx.Request(
            method,
            parsed(url),
            content=body,
            headers=headers,
            extensions={
                "timeout": httpx.Timeout(limit, connect=min(connect, limit)).as_dict(),
                **({"trace": trace} if trace is not None else {}),
            },
        )
        port = request.url.port
        if (
            request.url.scheme not in {"http", "https"}
            or not request.url.host
            or (port is not None and not 0 < port < 65536)
        ):
            raise Unsendable(f"the destination has no http(s) address: {url!r}")
        return request

    async def _exchange(
        self, client: httpx.AsyncClient, request: httpx.Request, limit: float, progress: Progress
    ) -> Report:
        response: httpx.Response | None = None
        body = bytearray()
        try:
            async with asyncio.timeout(limit):
                response = await client.send(request, stream=True)
                try:
                    whole = await self._read(response, body)
                finally:
                    await response.aclose()
            return classify(response, bytes(body), whole)
        except TimeoutError:
            seen = broken(progress, "Timeout", f"no whole answer within {limit:.1f} s")
        except Exception as error:  # whatever it was: it is reported, not left to the lease
            seen = broken(progress, type(error).__name__, str(error))
        if response is not None and not response.is_success:
            return classify(response, bytes(body), False)  # the status says enough
        return seen

    async def _read(self, response: httpx.Response, body: bytearray) -> bool:
        """Read the body into ``body`` up to the cap; whether that was all."""
        cap = self._config.max_response_bytes
        async for part in response.aiter_raw():
            body += part
            if len(body) > cap:
                del body[cap:]
                return False
        return True


@dataclass(frozen=True, slots=True)
class Target:
    """What a command's frozen destination says about the way to it."""

    url: str
    method: str
    headers: dict[str, str]
    key_header: str
    secret_ref: str | None

    @staticmethod
    def of(destination: Mapping[str, Any]) -> Target:
        """Read a destination snapshot: the row of the destination, its ``config`` inside."""
        config = destination.get("config") or {}
        headers = config.get("headers") or {}
        try:
            return Target(
                url=str(config.get("url") or ""),
                method=str(config.get("method") or "POST").upper(),
                headers={str(name): str(value) for name, value in headers.items()},
                key_header=str(destination.get("key_header") or "Idempotency-Key"),
                secret_ref=destination.get("secret_ref"),
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise Unsendable(f"the destination is malformed: {error}") from None


def _merged(*parts: Mapping[str, str]) -> dict[str, str]:
    """Headers; a later one replaces an earlier one of its name, however that is written. Two of one
    name would leave it to the receiver which counts, also of the command's key."""
    found: dict[str, tuple[str, str]] = {}
    for part in parts:
        found.update((name.lower(), (name, value)) for name, value in part.items())
    return dict(found.values())


def _bearer(secret_ref: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {resolve_secret(secret_ref)}"}


def classify(response: httpx.Response, body: bytes, whole: bool) -> Report:
    """What an answer that was read (its body up to the cap) says."""
    status = response.status_code
    receipt = {
        "status": status,
        "headers": {
            name: storable(response.headers[name])[:_LONGEST_HEADER]
            for name in KEPT_HEADERS
            if name in response.headers
        },
        "body": _body(response, body, whole),
    }
    if not whole:
        receipt["truncated"] = True
    detail = {"status": status}
    retry_after = _retry_after(response.headers)
    if 200 <= status < 300:
        return Report("Sent", detail, receipt)
    if status == 409:
        return Report("Conflict", detail, receipt, retry_after)
    if status == 429 or (status == 503 and retry_after is not None):
        return Report("Throttled", detail, receipt, retry_after)
    return Report("ReceiverError" if status >= 500 else "Refused", detail, receipt)


def _body(response: httpx.Response, body: bytes, whole: bool) -> Any:
    text = _text(body, response.charset_encoding or "utf-8")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if whole and body and (kind == "application/json" or kind.endswith("+json")):
        try:
            said = storable(json.loads(text, parse_constant=_no_constant))
            write(said)  # 1e999 is JSON, but read as a number that is none
            return said
        except (ValueError, RecursionError):
            pass
    return storable(text)


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


def _retry_after(headers: httpx.Headers) -> float | None:
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

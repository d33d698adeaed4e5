"""Sends one command over HTTP and says what was seen. What follows from it the database decides.

=====================================================  ============================
what was seen                                           outcome
=====================================================  ============================
bad address, name, connect or TLS failure, no secret    ``NotSent``
payload differs from its hash                           ``NotSent``
written, then timeout, reset, protocol or read error    ``Unknown``
2xx                                                     ``Sent`` (with receipt)
409                                                     ``Conflict`` (profile decides)
429; 503 with ``Retry-After``                           ``Throttled``
500, 502, 503 without a time, 504, other 5xx            ``ReceiverError``
3xx (never followed), other 4xx                         ``Refused``
=====================================================  ============================
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from pgbpm import __version__
from pgbpm.config import DeliveryConfig, EncryptionConfig
from pgbpm.encryption import SealedError
from pgbpm.jsontext import jsonb_text, read_exact, storable, write
from pgbpm.network import guarded_transport
from pgbpm.redaction import Redactor
from pgbpm.sealing import Vault
from pgbpm.secretrefs import SecretMissing, resolve_secret

KEPT_HEADERS = (
    "content-type", "date", "etag", "last-modified", "location", "retry-after",
    "request-id", "x-request-id", "x-correlation-id", "idempotency-key", "idempotency-replayed",
)  # fmt: skip
_LONGEST_HEADER = 1000
_LONGEST_WAIT = 86400.0
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class Report:
    """What was seen of one attempt, as ``mark_commands`` takes it."""

    outcome: str
    detail: dict[str, Any] = field(default_factory=dict)
    receipt: dict[str, Any] | None = None
    retry_after: float | None = None

    def item(self, command_id: str, fencing_token: int) -> str:
        """The JSON text of the item for ``mark_commands``."""
        item: dict[str, Any] = {
            "command_id": command_id,
            "fencing_token": fencing_token,
            "outcome": self.outcome,
            "detail": self.detail,
        }
        if self.receipt is not None:
            item["receipt"] = self.receipt
        if self.retry_after is not None:
            item["retry_after_seconds"] = self.retry_after
        return write(item)


class _Unsendable(Exception):
    """Nothing can leave: the destination or the payload is not right."""


@dataclass(slots=True)
class _Progress:
    """How far a request got."""

    written: bool = False

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        del info
        if event.endswith("send_request_headers.started"):
            self.written = True


class Deliverer:
    """Sends commands; one per runner, used by many tasks at the same time."""

    def __init__(self, config: DeliveryConfig, vault: Vault | None = None) -> None:
        self._config = config
        self._vault = vault or Vault(EncryptionConfig())
        self._client = httpx.AsyncClient(
            transport=guarded_transport(
                allow_private=config.allow_private_addresses, connections=config.concurrency
            ),
            follow_redirects=False,
            trust_env=False,
        )

    async def close(self) -> None:
        """Close what is open."""
        await self._client.aclose()

    async def send(
        self,
        command: Mapping[str, Any],
        time_left: float,
        stopped: asyncio.Event,
        *,
        tenant: str = "",
    ) -> Report:
        """Send one claimed command (a row of ``claim_commands``) within ``time_left`` seconds.

        What ``encryption.clear_to`` names is decrypted just before, and taken out of the report.
        Given up when ``stopped`` is set: ``Unknown`` then if anything had been written.
        """
        progress = _Progress()
        sending = asyncio.ensure_future(self._send(tenant, command, time_left, progress))
        stopping = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({sending, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                return sending.result()
            return _broken(progress, "Stopped", "the runner was told to stop")
        finally:
            stopping.cancel()
            sending.cancel()
            await asyncio.wait({sending, stopping})

    async def _send(
        self, tenant: str, command: Mapping[str, Any], time_left: float, progress: _Progress
    ) -> Report:
        try:
            request, limit, redactor = self._request(tenant, command, progress)
        except (_Unsendable, SecretMissing, SealedError, httpx.InvalidURL) as error:
            name = type(error).__name__.strip("_")
            return Report("NotSent", {"error": name, "message": str(error)})
        report = await self._exchange(request, min(limit, time_left), progress)
        return replace(
            report, detail=redactor.data(report.detail), receipt=redactor.data(report.receipt)
        )

    async def _exchange(self, request: httpx.Request, limit: float, progress: _Progress) -> Report:
        response: httpx.Response | None = None
        body = bytearray()
        try:
            async with asyncio.timeout(limit):
                response = await self._client.send(request, stream=True)
                try:
                    whole = await self._read(response, body)
                finally:
                    await response.aclose()
            return classify(response, bytes(body), whole)
        except TimeoutError:
            broken = _broken(progress, "Timeout", f"no whole answer within {limit:.1f} s")
        except Exception as error:  # whatever it was: it is reported, not left to the lease
            broken = _broken(progress, type(error).__name__, str(error))
        if response is not None and not response.is_success:
            return classify(response, bytes(body), False)  # the status says enough
        return broken

    def _request(
        self, tenant: str, command: Mapping[str, Any], progress: _Progress
    ) -> tuple[httpx.Request, float, Redactor]:
        target = Target.of(command["destination"])
        body = jsonb_text(command["payload"]).encode()
        if hashlib.sha256(body).hexdigest() != command["payload_hash"]:
            raise _Unsendable("the payload is not the one that was hashed when it was written")
        body, redactor = self._in_clear(tenant, command["payload"], target.url, body)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"pgbpm/{__version__}",
        }
        headers.update(target.headers)
        if target.secret_ref:
            headers["Authorization"] = f"Bearer {resolve_secret(target.secret_ref)}"
        headers[target.key_header] = str(command["command_id"])
        for name, value in headers.items():
            if not _TOKEN.fullmatch(name) or not value.isascii() or not value.isprintable():
                raise _Unsendable(f"header {name!r} cannot be sent")
        timeout = target.timeout or self._config.timeout_s
        request = self._client.build_request(
            target.method,
            target.url,
            content=body,
            headers=headers,
            timeout=timeout,
            extensions={"trace": progress.trace},
        )
        port = request.url.port
        if (
            request.url.scheme not in {"http", "https"}
            or not request.url.host
            or (port is not None and not 0 < port < 65536)
        ):
            raise _Unsendable(f"the destination has no http(s) address: {target.url!r}")
        return request, timeout, redactor

    def _in_clear(self, tenant: str, payload: Any, url: str, body: bytes) -> tuple[bytes, Redactor]:
        """The body with the places decrypted that a receiver at this address may have."""
        places = self._vault.clear_for(httpx.URL(url))
        if not places or not isinstance(payload, dict):
            return body, Redactor()
        opened = self._vault.open(tenant, payload, parse=read_exact, only=places)
        for fault in opened.faults:
            raise fault
        return jsonb_text(opened.variables).encode(), opened.redactor

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
    timeout: float | None
    key_header: str
    secret_ref: str | None

    @staticmethod
    def of(destination: Mapping[str, Any]) -> Target:
        """Read a destination snapshot: the row of the destination, its ``config`` inside."""
        config = destination.get("config") or {}
        headers = config.get("headers") or {}
        timeout = config.get("timeout_seconds")
        try:
            return Target(
                url=str(config.get("url") or ""),
                method=str(config.get("method") or "POST").upper(),
                headers={str(name): str(value) for name, value in headers.items()},
                timeout=float(timeout) if timeout is not None else None,
                key_header=str(destination.get("key_header") or "Idempotency-Key"),
                secret_ref=destination.get("secret_ref"),
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise _Unsendable(f"the destination is malformed: {error}") from None


def _broken(progress: _Progress, error: str, message: str) -> Report:
    """Nothing came back: had anything left this machine?"""
    detail = {"error": error, "message": storable(message)[:500], "written": progress.written}
    return Report("Unknown" if progress.written else "NotSent", detail)


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
    try:
        text = body.decode(response.charset_encoding or "utf-8", errors="replace")
    except LookupError:
        text = body.decode(errors="replace")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if whole and body and (kind == "application/json" or kind.endswith("+json")):
        try:
            return storable(json.loads(text, parse_constant=_no_constant))
        except (ValueError, RecursionError):
            pass
    return storable(text)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


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

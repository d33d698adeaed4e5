"""Sends one command and says what was seen. What follows from it the database decides.

=====================================================  ============================
what was seen over HTTP                                 outcome
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

Mail is in :mod:`pgbpm.delivery_smtp`, kinds of your own in :mod:`pgbpm.sending`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, cast

import httpx

from pgbpm.config import DeliveryConfig, EncryptionConfig
from pgbpm.delivery_http import HttpSender, parsed
from pgbpm.delivery_smtp import SmtpSender
from pgbpm.encryption import SealedError
from pgbpm.jsontext import jsonb_text, read_exact
from pgbpm.names import Names
from pgbpm.redaction import Redactor
from pgbpm.sealing import Vault
from pgbpm.secretrefs import SecretMissing
from pgbpm.sending import GROUP, Command, Prober, Progress, Report, Sender, Unsendable, broken

__all__ = ["Deliverer", "Report", "Stops"]

logger = logging.getLogger("pgbpm.runner")
_LOCAL = (Unsendable, SealedError)


class Deliverer:
    """Sends commands; one per runner, used by many tasks at the same time."""

    def __init__(self, config: DeliveryConfig, vault: Vault | None = None) -> None:
        self._vault = vault or Vault(EncryptionConfig())
        self._names = Names()
        self._stops = Stops()
        http = HttpSender(config, self._names)
        self._senders: dict[str, Sender] = {
            "http": http,
            "webhook": http,
            "smtp": SmtpSender(config, self._names),
            **_others(config),
        }

    @property
    def kinds(self) -> list[str]:
        """The kinds of destinations it can send to."""
        return sorted(self._senders)

    @property
    def probing_kinds(self) -> list[str]:
        """The kinds of destinations it can ask."""
        return sorted(kind for kind, sender in self._senders.items() if hasattr(sender, "probe"))

    async def close(self) -> None:
        """Close what is open."""
        self._stops.close()
        for sender in self._senders.values():
            await sender.close()
        self._names.close()

    async def send(
        self,
        command: Mapping[str, Any],
        time_left: float,
        stopped: asyncio.Event,
        *,
        tenant: str = "",
        now: float | None = None,
    ) -> Report:
        """Send one claimed command (a row of ``claim_commands``) within ``time_left`` seconds.

        What ``encryption.clear_to`` names is decrypted just before, and taken out of the report.
        Given up when ``stopped`` is set: ``Unknown`` then if anything had been written. ``now``:
        the clock of the database, seconds since 1970.
        """
        progress = Progress()

        async def sending() -> Report:
            try:
                sender = self._sender(command)
                payload, body, redactor = self._in_clear(tenant, command)
                made = _command(command, payload, body, time_left, now)
                report = await sender.send(made, progress)
            except (*_LOCAL, SecretMissing, httpx.InvalidURL) as error:
                detail = {"error": type(error).__name__, "message": str(error)}
                return Report(
                    "NotSent", {**detail, "local": True} if isinstance(error, _LOCAL) else detail
                )
            except Exception as error:
                return broken(progress, type(error).__name__, str(error))
            return replace(
                report, detail=redactor.data(report.detail), receipt=redactor.data(report.receipt)
            )

        return await self._stops.until(
            stopped, sending(), lambda: broken(progress, "Stopped", "the runner was told to stop")
        )

    async def probe(
        self, command: Mapping[str, Any], time_left: float, stopped: asyncio.Event
    ) -> Report:
        """Ask the receiver of one claimed probe (a row of ``claim_probes``)."""

        async def asking() -> Report:
            try:
                sender = cast("Prober", self._sender(command))
                return await sender.probe(_command(command, None, b"", time_left, None))
            except Exception as error:
                detail = {"error": type(error).__name__, "message": str(error)[:500]}
                return Report("Unclear", detail)

        return await self._stops.until(
            stopped, asking(), lambda: Report("Unclear", {"error": "Stopped"})
        )

    def _sender(self, command: Mapping[str, Any]) -> Sender:
        kind = command["destination"].get("kind") or "http"
        if kind not in self._senders:
            raise Unsendable(f"this runner knows no destinations of kind {kind!r}")
        return self._senders[kind]

    def _in_clear(self, tenant: str, command: Mapping[str, Any]) -> tuple[Any, bytes, Redactor]:
        """Payload and body with the places decrypted that a receiver at this address may have."""
        payload = command["payload"]
        body = jsonb_text(payload).encode()
        if hashlib.sha256(body).hexdigest() != command["payload_hash"]:
            raise Unsendable("the payload is not the one that was hashed when it was written")
        url = (command["destination"].get("config") or {}).get("url")
        places = self._vault.clear_for(parsed(url)) if isinstance(url, str) else []
        if not places or not isinstance(payload, dict):
            return payload, body, Redactor()
        opened = self._vault.open(tenant, payload, parse=read_exact, only=places)
        for fault in opened.faults:
            raise fault
        return opened.variables, jsonb_text(opened.variables).encode(), opened.redactor


def _command(
    command: Mapping[str, Any], payload: Any, body: bytes, time_left: float, now: float | None
) -> Command:
    return Command(
        id=str(command["command_id"]),
        destination=command["destination"],
        payload=payload,
        body=body,
        sent_at=time.time() if now is None else now,
        time_left=time_left,
    )


class Stops:
    """Work that is given up when an event is set. One task listens for all of it."""

    def __init__(self) -> None:
        self._under_way: dict[asyncio.Event, dict[asyncio.Task[Any], Callable[[], Report]]] = {}
        self._given_up: dict[asyncio.Task[Any], Report] = {}
        self._listening: set[asyncio.Task[None]] = set()

    async def until(
        self,
        stopped: asyncio.Event,
        work: Coroutine[Any, Any, Report],
        give_up: Callable[[], Report],
    ) -> Report:
        """What the work says, or ``give_up()`` when it is told to stop. It has ended then."""
        task = asyncio.current_task()
        assert task is not None
        if stopped.is_set():
            work.close()
            return give_up()
        mine = self._under_way.get(stopped)
        if mine is None:
            mine = self._under_way[stopped] = {}
            listening = asyncio.ensure_future(self._listen(stopped))
            self._listening.add(listening)
            listening.add_done_callback(self._listening.discard)
        mine[task] = give_up
        try:
            report = await work
            if task in self._given_up:
                task.uncancel()  # too late to give it up
            return report
        except asyncio.CancelledError:
            # Also cancelled by somebody else: then that counts.
            if task not in self._given_up or task.uncancel() > 0:
                raise
            return self._given_up[task]
        finally:
            mine.pop(task, None)
            self._given_up.pop(task, None)

    async def _listen(self, stopped: asyncio.Event) -> None:
        await stopped.wait()
        for task, give_up in self._under_way.pop(stopped, {}).items():
            self._given_up[task] = give_up()  # first: from here on nothing may leave
            task.cancel()

    def close(self) -> None:
        """Listen no more."""
        for listening in self._listening:
            listening.cancel()
        self._under_way.clear()


def _others(config: DeliveryConfig) -> dict[str, Sender]:
    """Senders of other packages. One that cannot be made is told of, and its kind left alone."""
    found: dict[str, Sender] = {}
    for point in entry_points(group=GROUP):
        try:
            found[point.name] = point.load()(config)
        except Exception:
            logger.exception("commands of kind %s cannot be sent: %s", point.name, point.value)
    return found

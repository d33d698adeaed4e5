"""The runner: claims work, runs handlers, sends commands, drives what falls due.

It decides nothing about processes. What it knows is lost when it dies, and that is all right: every
lease it holds runs out, every result it had not stored is made again by somebody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import secrets
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import psycopg

from pgbpm.artifacts import Artifacts
from pgbpm.attempts import Attempts
from pgbpm.claiming import Claims, groups_of
from pgbpm.config import Config
from pgbpm.db import Database
from pgbpm.delivery import Deliverer
from pgbpm.errors import MigrationError
from pgbpm.gateway import CLAIM_AT_HAND, HIGHEST_API, LOWEST_API, Gateway
from pgbpm.outgoing import Outgoing
from pgbpm.pacing import Look, Rounds
from pgbpm.repeat import GaveUp, Repeater, explain
from pgbpm.results import Results
from pgbpm.sealing import Vault
from pgbpm.tenants import Tenants
from pgbpm.unserved import Unserved, no_tenant
from pgbpm.wakeup import Wakeup, is_busy
from pgbpm.way import Way
from pgbpm.worker import Worker

logger = logging.getLogger("pgbpm.runner")

_IDLE_POLL_S = 0.1
_AHEAD_S = 9.0
"""So far ahead, and a little further, ``tick`` tells what falls due."""
_DEFAULT_TICK_S = 0.25
_AFTER_DRAIN_S = 5.0
_GONE_WHILE_DRAINING_S = 5.0
_DENIED = "42501"
_KINDS = {
    "inbox": "messages",
    "leases": "expired leases",
    "messages": "expired messages",
    "tokens": "parked tokens",
    "unknown": "uncertain commands",
}
"""What ticks do, by the names people know."""


def runner_name() -> str:
    """A name for this runner that no other has: host, process, and a few random digits."""
    return f"{socket.gethostname()[:100]}-{os.getpid()}-{secrets.token_hex(3)}"


class Runner:
    """One runner process. ``await run()`` serves until :meth:`stop`.

    ``tenants``: only these (default: all this login may work for that have work).
    ``until_idle``: end when nothing is due or running, see :meth:`run`.
    """

    def __init__(
        self,
        database: Database,
        worker: Worker,
        *,
        tenants: Sequence[str] | None = None,
        name: str | None = None,
        until_idle: bool = False,
    ) -> None:
        self.name = name or runner_name()
        self._database = database
        self._config: Config = database.config
        self._until_idle = until_idle
        self._stop = asyncio.Event()
        self._activity = 0
        self._complaints: dict[tuple[str, str], str] = {}
        self._repeater = Repeater()
        self._way = Way(database)
        self._gateway = Gateway(self._way.pool)
        self._gateway.hurried = lambda: self._repeater.away_since is not None
        runner = self._config.runner
        vault = Vault(self._config.encryption)
        vault.check()
        self.results = Results(self._gateway, self._repeater, runner, self._moved)
        self._attempts = Attempts(
            self._gateway, self.results, runner, vault, Artifacts(self._config.artifacts)
        )
        self._groups = groups_of(worker, runner)
        self._claims = Claims(
            self.name, self._gateway, self._repeater, self.results, self._attempts, self._config,
            self._moved,
        )  # fmt: skip
        self.outgoing = Outgoing(
            self.name, self._gateway, self._repeater, self.results,
            Deliverer(self._config.delivery, vault), self._config.delivery.concurrency,
        )  # fmt: skip
        self._unserved = Unserved(self._gateway, self._types())
        self._waits_for_others = False
        self._rounds = self._make_rounds()
        self._claiming = [r for r in self._rounds if r.work in {"tasks", "commands"}]
        self._tenants = Tenants(
            self._gateway, self._repeater, runner, self._rounds,
            chosen=tenants, activity=lambda: self._activity,
            within=max(
                runner.poll_max_ms / 1000, runner.idle_grace_s if until_idle else 0.0
            ),
        )  # fmt: skip
        self._wakeup: Wakeup | None = None
        self.clean = True
        """False after :meth:`run` if threads of handlers could not be ended."""

    # -- life ------------------------------------------------------------------------------------

    @property
    def away(self) -> bool:
        """Whether the database was gone when it was last asked."""
        return self._repeater.away_since is not None

    def stop(self) -> None:
        """Begin to drain: claim nothing more, end what runs within ``runner.drain_seconds``,
        release the rest. May be called from a signal handler of the event loop."""
        self._repeater.stopping = True
        self._stop.set()

    async def run(self) -> None:
        """Serve until :meth:`stop`, or (``until_idle``) until tick, tasks and commands have
        nothing due, nobody holds a lease, and nothing falls due within ``runner.idle_grace_s``.

        Raises :class:`MigrationError` when the database serves another version of the functions,
        ``psycopg`` errors when the first connection fails or the login lacks a role, and (only
        ``until_idle``) :class:`PgbpmError` when the login may work for no tenant.
        """
        async with self._way.pool:
            try:
                await self._check_version()
                if self._config.runner.wakeup and self._way.listens():
                    self._wakeup = Wakeup(
                        self._way.direct, self._wake,
                        lambda: is_busy([a_round.load() for a_round in self._claiming]),
                        self._way.is_ours, CLAIM_AT_HAND,
                    )  # fmt: skip
                    if not self._config.database.listen_url:  # else it may be another login
                        wakeup = self._wakeup
                        self._gateway.ear = lambda: wakeup.ear
                with contextlib.suppress(GaveUp):  # told to stop while the database was away
                    if not await self._tenants.refresh():
                        error = await no_tenant(self._gateway)
                        if self._until_idle:
                            raise error
                        logger.warning("%s; %s", error.message, error.hint)
                await self._serve()
            finally:
                await self.outgoing.deliverer.close()

    async def _serve(self) -> None:
        services: list[Coroutine[Any, Any, None]] = [
            self.results.run(),
            self._attempts.beat(),
            self._tenants.watch(),
            self._tell_stats(),
            self._unserved.watch(self._at_rest, lambda: self._tenants.serving),
        ]
        if self._wakeup:
            services.append(self._wakeup.run())
        if self._until_idle:
            services.append(self._watch_idle())
        logger.info(
            "runner %s serves %s", self.name, ", ".join(self._types()) or "no task types",
            extra={"runner": self.name},
        )  # fmt: skip
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(service) for service in services]
                looking = [group.create_task(a_round.run()) for a_round in self._rounds]
                await self._stop.wait()
                drained = await self._drained_in_time(looking)
                if not drained:
                    await self._leave(looking)
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        if drained:
            logger.info("runner %s ended: %s", self.name, self.summary())

    async def _drained_in_time(self, looking: list[asyncio.Task[None]]) -> bool:
        """Drain; False if there is no database to drain into."""
        if self.away:
            return False
        loop = asyncio.get_running_loop()
        draining = asyncio.create_task(self._drain(looking))
        while not draining.done():
            since = self._repeater.away_since
            if since is not None and loop.time() - since > _GONE_WHILE_DRAINING_S:
                draining.cancel()
                await asyncio.wait([draining])
                return False
            await asyncio.wait([draining], timeout=0.2)
        await draining
        return True

    async def _leave(self, looking: list[asyncio.Task[None]]) -> None:
        """End at once: without a database nothing can be stored or given back."""
        held = len(self._attempts) + self.results.pending + len(self.outgoing)
        logger.warning(
            "the database is gone, nothing can be stored or released: leaving; %s. So far: %s",
            f"leases that run out by themselves: {held}" if held else "no lease is held",
            self.summary(),
        )
        self._repeater.give_up_at = asyncio.get_running_loop().time()
        self.results.abandon()
        for a_round in self._rounds:
            a_round.stop()
        for task in looking:
            task.cancel()
        self.outgoing.abandon()
        self.clean = await self._attempts.abandon()

    async def _drain(self, looking: list[asyncio.Task[None]]) -> None:
        logger.info("runner %s drains: %d handlers under way", self.name, len(self._attempts))
        loop = asyncio.get_running_loop()
        seconds = self._config.runner.drain_seconds
        end = loop.time() + seconds
        self._repeater.give_up_at = end + _AFTER_DRAIN_S
        for a_round in self._rounds:
            a_round.stop()
        for group in self._groups:
            group.slots.close()
        self.outgoing.close()
        self.results.open_gate()
        _, hanging = await asyncio.wait(looking, timeout=seconds)
        for hung in hanging:
            hung.cancel()
        self.clean = await self._attempts.finish(max(end - loop.time(), 0.0))
        await self.outgoing.finish(max(end - loop.time(), 0.0))
        try:
            async with asyncio.timeout(_AFTER_DRAIN_S + max(end - loop.time(), 0.0)):
                await self.results.drained()
        except TimeoutError:
            logger.error("%d results were not answered in time", self.results.pending)

    # -- looking for work ------------------------------------------------------------------------

    def _make_rounds(self) -> list[Rounds]:
        runner = self._config.runner
        shortest, longest = runner.poll_min_ms / 1000, runner.poll_max_ms / 1000
        given = self._config.engine.timer_poll_interval_ms
        tick = given / 1000 if given else _DEFAULT_TICK_S
        if self._until_idle:
            longest, tick = min(longest, _IDLE_POLL_S), min(tick, _IDLE_POLL_S)

        def rounds(
            name: str,
            look: Callable[[str], Awaitable[Look]],
            low: float,
            high: float,
            work: str | None = None,
            **options: Any,
        ) -> Rounds:
            return Rounds(
                name, functools.partial(self._careful, name, look), shortest=low, longest=high,
                activity=lambda: self._activity, work=work, paused=self._paused,
                told=lambda: work is not None and self._wakeup is not None
                and self._wakeup.guarding,
                **options,
            )  # fmt: skip

        made = [rounds("tick", self._claims.tick, tick, tick, "tick")]
        for number, group in enumerate(self._groups):
            claim = functools.partial(self._claims.tasks, group)
            begin = functools.partial(self._claims.begin, group)
            made.append(
                rounds(f"claim_tasks {number}", claim, shortest, longest, "tasks", begin=begin)
            )
        if self._config.delivery.enabled:
            out = self.outgoing
            made.append(rounds("claim_commands", out.commands, shortest, longest, "commands"))
            made.append(rounds("claim_probes", out.probes, tick, longest))
            made.append(rounds("claim_domain_events", out.events, tick, longest))
        return made

    async def _careful(
        self, name: str, look: Callable[[str], Awaitable[Look]], tenant: str
    ) -> Look:
        """A look that the engine refuses (a suspended tenant, a grant taken away) is told once
        and tried again later; it does not end the runner."""
        try:
            seen = await look(tenant)
        except GaveUp:
            return Look(found=False)
        except psycopg.Error as error:
            if error.sqlstate == _DENIED:
                raise
            message = explain(error)
            if self._complaints.get((name, tenant)) != message:
                self._complaints[name, tenant] = message
                logger.error("%s for tenant %r was refused: %s", name, tenant, message)
            return Look(found=False)
        self._complaints.pop((name, tenant), None)
        if seen.found:
            self._activity += 1
            if self._wakeup:
                self._wakeup.stirred()
        return seen

    # -- what goes on beside ---------------------------------------------------------------------

    def _moved(self, tenant: str) -> None:
        """Something was stored: there may be new work."""
        self._activity += 1
        self._tenants.stir()
        for a_round in self._claiming:
            a_round.wake(tenant)

    def _wake(self, work: str | None, mark: str | None) -> None:
        """Somebody made work, of this kind (None: of any) for tenants of this mark."""
        for a_round in self._rounds:
            if work is None:
                a_round.wake()
            elif a_round.work == work:
                a_round.wake_marked(mark) if mark else a_round.wake()
        self._tenants.stir()

    def _paused(self) -> None:
        if self._wakeup:
            self._wakeup.paused()

    async def _check_version(self) -> None:
        lowest, highest = await self._gateway.api_version()
        if highest < LOWEST_API or lowest > HIGHEST_API:
            raise MigrationError(
                f"the database serves its functions in versions {lowest} to {highest}, "
                f"this runner needs {LOWEST_API} to {HIGHEST_API}",
                hint="upgrade the database (pgbpm migrate) or the runner",
            )

    async def _watch_idle(self) -> None:
        loop = asyncio.get_running_loop()
        grace = self._config.runner.idle_grace_s
        ahead = min(grace, _AHEAD_S)
        since: float | None = None
        while since is None or loop.time() < since + grace - ahead:
            await asyncio.sleep(0.01 if since is None else _IDLE_POLL_S)
            if not (self._idle(loop.time() + ahead) and await self._nobody_works()):
                since = None  # the rest of a longer grace is waited for
            elif since is None:
                since = loop.time()
        await self._unserved.look(self._tenants.serving)
        logger.info("nothing is due within %g s", grace)
        self.stop()

    async def _nobody_works(self) -> bool:
        """Whether no lease is held: what another runner has in hand, dead or alive, comes back."""
        try:
            if self._tenants.resident:
                held = [await self._gateway.leased(tenant) for tenant in self._tenants.serving]
            else:
                held = [await self._gateway.leased_anywhere()]
        except (GaveUp, psycopg.Error):
            return False  # away: the rounds say so, and ask again
        if any(held):
            if not self._waits_for_others:
                self._waits_for_others = True
                logger.info("waiting for others, who hold leases: %d", sum(held))
            await asyncio.sleep(self._config.runner.poll_max_ms / 1000)
        return not any(held)

    def _at_rest(self) -> bool:
        return not (self.away or len(self._attempts) or self.results.pending or self.outgoing)

    def _idle(self, horizon: float) -> bool:
        if len(self._attempts) or self.results.pending or self.outgoing:
            return False
        if not self._tenants.resident:
            return self._tenants.idle_round == self._activity
        return all(a_round.quiet(self._activity, horizon) for a_round in self._rounds)

    async def _tell_stats(self) -> None:
        told = self.summary()
        while True:
            await asyncio.sleep(self._config.runner.stats_s)
            if (now := self.summary()) != told:
                told = now
                logger.info("%s; %d under way", now, len(self._attempts))

    def summary(self) -> str:
        """What came of the work so far, for people: ``Completed 12, Retrying 1; driven: timers 3``,
        the latter by ticks."""
        done = _counted(self.results.counts)
        driven = _counted(Counter({_KINDS.get(k, k): n for k, n in self._claims.ticked.items()}))
        parts = [done, driven and f"driven: {driven}"]
        return "; ".join(part for part in parts if part) or "nothing to do"

    def _types(self) -> list[str]:
        return sorted(name for group in self._groups for name in group.handlers)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items()) if n)

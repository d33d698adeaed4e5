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
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pgbpm.artifacts import Artifacts
from pgbpm.attempts import Attempts, Slots
from pgbpm.config import Config
from pgbpm.db import APPLICATION, AsyncConnection, AsyncPool, Database
from pgbpm.delivery import Deliverer
from pgbpm.errors import MigrationError
from pgbpm.gateway import HIGHEST_API, LOWEST_API, Claim, Gateway
from pgbpm.jsontext import write
from pgbpm.pacing import Look, Rounds
from pgbpm.repeat import GaveUp, Repeater, explain
from pgbpm.results import Results
from pgbpm.sealing import Vault
from pgbpm.sending import EVENTS, PROBES
from pgbpm.telling import tell
from pgbpm.unserved import Unserved, no_tenant
from pgbpm.wakeup import Wakeup
from pgbpm.worker import TaskHandler, Worker

logger = logging.getLogger("pgbpm.runner")

_MOST_TYPES = 100
_RESULTS_AHEAD = 5
_IDLE_POLL_S = 0.1
_DEFAULT_TICK_S = 0.25
_AFTER_DRAIN_S = 5.0
_LEASE_MARGIN_S = 1.0
_MOST_RESIDENT = 200
"""Up to so many tenants are served all the time; of more those that have work, in rounds."""
_PAGE = 200
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
_LEVELS = {"Sent": logging.DEBUG, "Throttled": logging.INFO}


def runner_name() -> str:
    """A name for this runner that no other has: host, process, and a few random digits."""
    return f"{socket.gethostname()[:100]}-{os.getpid()}-{secrets.token_hex(3)}"


@dataclass(slots=True)
class _Group:
    """Task types whose handlers share places."""

    handlers: dict[str, TaskHandler]
    slots: Slots
    types: list[str] = field(init=False)
    positions: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.types = list(self.handlers)

    def rotated(self) -> list[str]:
        """The types, another one first each time: the engine serves them in the order given."""
        self.types.append(self.types.pop(0))
        return self.types


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
        self._tenants = list(tenants) if tenants is not None else None
        self._until_idle = until_idle
        self._stop = asyncio.Event()
        self._stop_sending = asyncio.Event()
        self._activity = 0
        self._serving: list[str] = []
        self._complaints: dict[tuple[str, str], str] = {}
        self._repeater = Repeater()
        self._pool: AsyncPool = database.async_pool(
            "run", reconnect_timeout=0.0, configure=_configure
        )
        self._gateway = Gateway(self._pool)
        self._gateway.hurried = lambda: self._repeater.away_since is not None
        runner = self._config.runner
        vault = Vault(self._config.encryption)
        vault.check()
        self.results = Results(self._gateway, self._repeater, runner, self._moved)
        self._attempts = Attempts(
            self._gateway, self.results, runner, vault, Artifacts(self._config.artifacts)
        )
        self._deliverer = Deliverer(self._config.delivery, vault)
        self._send_slots = Slots(self._config.delivery.concurrency)
        self._probe_slots = Slots(PROBES)
        self._event_slots = Slots(EVENTS)
        self._sending: set[asyncio.Task[None]] = set()
        self._groups = _groups(worker, runner.concurrency, runner.threads)
        self._tick_positions: dict[str, str | None] = {}
        self._command_positions: dict[str, str | None] = {}
        self._unserved = Unserved(self._gateway, self._types())
        self._ticked: Counter[str] = Counter()
        self._waits_for_others = False
        self._resident = True
        self._idle_round = -1
        self._round_pause = 0.0
        self._stirred = asyncio.Event()
        self._rounds = self._make_rounds()
        self._wakeup: Wakeup | None = None
        if runner.wakeup:
            self._wakeup = Wakeup(
                secrets.token_hex(8), self._connect, self._gateway.notify, self._wake_all
            )
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
        async with self._pool:
            try:
                await self._check_version()
                with contextlib.suppress(GaveUp):  # told to stop while the database was away
                    if not await self._refresh_tenants():
                        error = await no_tenant(self._gateway)
                        if self._until_idle:
                            raise error
                        logger.warning("%s; %s", error.message, error.hint)
                await self._serve()
            finally:
                await self._deliverer.close()

    async def _serve(self) -> None:
        services: list[Coroutine[Any, Any, None]] = [
            self.results.run(),
            self._attempts.beat(),
            self._watch_tenants(),
            self._tell_stats(),
            self._unserved.watch(self._at_rest, lambda: self._serving),
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
        held = len(self._attempts) + self.results.pending + len(self._sending)
        logger.warning(
            "the database is gone, nothing can be stored or released: leaving; %s. So far: %s",
            f"leases that run out by themselves: {held}" if held else "no lease is held",
            self.summary(),
        )
        self._repeater.give_up_at = asyncio.get_running_loop().time()
        self.results.abandon()
        for a_round in self._rounds:
            a_round.stop()
        for task in (*looking, *self._sending):
            task.cancel()
        self.clean = await self._attempts.abandon()

    async def _drain(self, looking: list[asyncio.Task[None]]) -> None:
        logger.info("runner %s drains: %d handlers under way", self.name, len(self._attempts))
        loop = asyncio.get_running_loop()
        seconds = self._config.runner.drain_seconds
        end = loop.time() + seconds
        self._repeater.give_up_at = end + _AFTER_DRAIN_S
        for a_round in self._rounds:
            a_round.stop()
        for slots in (
            *(group.slots for group in self._groups), self._send_slots,
            self._probe_slots, self._event_slots,
        ):  # fmt: skip
            slots.close()
        self.results.open_gate()
        _, hanging = await asyncio.wait(looking, timeout=seconds)
        for hung in hanging:
            hung.cancel()
        self.clean = await self._attempts.finish(max(end - loop.time(), 0.0))
        if self._sending:
            await asyncio.wait(self._sending, timeout=max(end - loop.time(), 0.0))
        self._stop_sending.set()
        if self._sending:
            await asyncio.wait(self._sending)
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
            name: str, look: Callable[[str], Coroutine[Any, Any, Look]], low: float, high: float
        ) -> Rounds:
            async def careful(tenant: str) -> Look:
                return await self._careful(name, tenant, look)

            return Rounds(
                name, careful, shortest=low, longest=high, activity=lambda: self._activity
            )

        made = [rounds("tick", self._tick, tick, tick)]
        for number, group in enumerate(self._groups):

            async def claim(tenant: str, group: _Group = group) -> Look:
                return await self._claim_tasks(group, tenant)

            made.append(rounds(f"claim_tasks {number}", claim, shortest, longest))
        if self._config.delivery.enabled:
            made.append(rounds("claim_commands", self._claim_commands, shortest, longest))
            made.append(rounds("claim_probes", self._claim_probes, tick, longest))
            made.append(rounds("claim_domain_events", self._claim_events, tick, longest))
        return made

    async def _careful(
        self, name: str, tenant: str, look: Callable[[str], Coroutine[Any, Any, Look]]
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
        return seen

    async def _tick(self, tenant: str) -> Look:
        limit = self._config.engine.timer_batch_size
        positions = self._tick_positions.pop(tenant, None)
        ticked = await self._repeater(
            "tick", lambda: self._gateway.tick(tenant, limit, positions), look=True
        )
        self._tick_positions[tenant] = ticked.positions
        did = sum(ticked.done.values())
        if did:
            self._ticked.update(ticked.done)
            logger.debug("tick of tenant %r: %s", tenant, ticked.done)
            self._moved(tenant)
        return Look(found=did > 0, due_in=ticked.due_in)

    async def _claim_tasks(self, group: _Group, tenant: str) -> Look:
        await self.results.below(_RESULTS_AHEAD * self._config.runner.batch_size)
        free = await group.slots.wait()
        if not free:
            return Look(found=False)
        limit = min(free, self._config.runner.batch_size, 1000)
        positions = group.positions.pop(tenant, None)  # gone if the claim fails
        claim = await self._repeater(
            "claim_tasks",
            lambda: self._gateway.claim_tasks(
                tenant, self.name, group.rotated(), limit, self._config.runner.lease_s, positions
            ),
            look=True,
        )
        group.positions[tenant] = claim.positions
        group.slots.take(len(claim.items))
        self._attempts.start(tenant, claim, group.handlers, group.slots)
        return Look(found=bool(claim.items), due_in=claim.due_in, taken=len(claim.items))

    async def _claim_commands(self, tenant: str) -> Look:
        free = await self._send_slots.wait()
        if not free:
            return Look(found=False)
        positions = self._command_positions.pop(tenant, None)
        claim = await self._repeater(
            "claim_commands",
            lambda: self._gateway.claim_commands(
                tenant, self.name, self._deliverer.kinds, min(free, 1000), positions
            ),
            look=True,
        )
        self._command_positions[tenant] = claim.positions
        self._send_slots.take(len(claim.items))
        for command in claim.items:
            sending = asyncio.create_task(self._deliver(tenant, command, claim))
            self._sending.add(sending)
            sending.add_done_callback(self._sent)
        return Look(found=bool(claim.items), due_in=claim.due_in, taken=len(claim.items))

    async def _deliver(self, tenant: str, command: dict[str, Any], claim: Claim) -> None:
        lease = _seconds(command["lease_until"]) - claim.server_time
        left = claim.asked_at + lease - asyncio.get_running_loop().time() - _LEASE_MARGIN_S
        report = await self._deliverer.send(
            command, max(left, lease / 4), self._stop_sending, tenant=tenant,
            now=claim.server_time + asyncio.get_running_loop().time() - claim.asked_at,
        )  # fmt: skip
        logger.log(
            _LEVELS.get(report.outcome, logging.WARNING),
            "command %s to %s: %s %s", command["command_id"], command["destination_code"],
            report.outcome, report.detail,
            extra={"command_id": command["command_id"], "outcome": report.outcome},
        )  # fmt: skip
        self.results.mark(tenant, command["command_id"], command["fencing_token"], report)

    async def _claim_probes(self, tenant: str) -> Look:
        free = await self._probe_slots.wait()
        if not free:
            return Look(found=False)
        items, due_in = await self._repeater(
            "claim_probes",
            lambda: self._gateway.claim_probes(
                tenant, self.name, self._deliverer.probing_kinds, free
            ),
            look=True,
        )
        self._probe_slots.take(len(items))
        for item in items:
            asking = asyncio.create_task(self._probe(tenant, item))
            self._sending.add(asking)
            asking.add_done_callback(self._asked)
        return Look(found=bool(items), due_in=due_in)

    async def _probe(self, tenant: str, item: dict[str, Any]) -> None:
        left = item["left_s"] - _LEASE_MARGIN_S
        report = await self._deliverer.probe(
            item, max(left, item["left_s"] / 4), self._stop_sending
        )
        logger.info(
            "asked %s for command %s: %s %s", item["destination_code"], item["command_id"],
            report.outcome, report.detail,
            extra={"command_id": item["command_id"], "outcome": report.outcome},
        )  # fmt: skip
        self.results.mark_probe(tenant, item["command_id"], item["fencing_token"], report)

    async def _claim_events(self, tenant: str) -> Look:
        if not await self._event_slots.wait():
            return Look(found=False)
        batch = await self._repeater(
            "claim_domain_events",
            lambda: self._gateway.claim_events(tenant, self.name, self._deliverer.kinds),
            look=True,
        )
        if batch is None:
            return Look(found=False)
        self._event_slots.take(1)
        telling = asyncio.create_task(self._tell(tenant, batch))
        self._sending.add(telling)
        telling.add_done_callback(lambda task: self._ended(task, self._event_slots))
        return Look(found=True)

    async def _tell(self, tenant: str, batch: dict[str, Any]) -> None:
        told = await tell(batch, self._deliverer, self._gateway.notify, tenant, self._stop_sending)
        self.results.counts["events told"] += told.count
        if told.error is not None:
            logger.warning("subscription %s: %s", batch["subscription"], told.error)
        with contextlib.suppress(GaveUp):
            outcome = await self._repeater(
                "mark_published",
                lambda: self._gateway.mark_published(
                    tenant, batch["subscription"], batch["fencing_token"], told.to,
                    None if told.error is None else write(told.error),
                ),
            )  # fmt: skip
            if outcome != "Done":
                logger.warning("subscription %s: %s", batch["subscription"], outcome)

    def _asked(self, asking: asyncio.Task[None]) -> None:
        self._ended(asking, self._probe_slots)

    def _sent(self, sending: asyncio.Task[None]) -> None:
        self._ended(sending, self._send_slots)

    def _ended(self, sending: asyncio.Task[None], slots: Slots) -> None:
        self._sending.discard(sending)
        slots.give()
        if not sending.cancelled() and (error := sending.exception()) is not None:
            logger.error("a command could not be sent", exc_info=error)

    # -- what goes on beside ---------------------------------------------------------------------

    def _moved(self, tenant: str) -> None:
        """Something was stored: there may be new work, here and for others."""
        self._activity += 1
        self._stirred.set()
        for a_round in self._rounds:
            if a_round.name not in {"tick", "claim_probes", "claim_domain_events"}:
                a_round.wake(tenant)
        if self._wakeup:
            self._wakeup.tell()

    def _wake_all(self) -> None:
        self._stirred.set()
        for a_round in self._rounds:
            a_round.wake()

    async def _connect(self) -> AsyncConnection:
        return await psycopg.AsyncConnection.connect(
            self._database.url,
            autocommit=True,
            row_factory=dict_row,
            application_name=f"{APPLICATION}/wakeup",
            connect_timeout=self._config.database.connect_timeout_s,
        )

    async def _check_version(self) -> None:
        lowest, highest = await self._gateway.api_version()
        if highest < LOWEST_API or lowest > HIGHEST_API:
            raise MigrationError(
                f"the database serves its functions in versions {lowest} to {highest}, "
                f"this runner needs {LOWEST_API} to {HIGHEST_API}",
                hint="upgrade the database (pgbpm migrate) or the runner",
            )

    async def _refresh_tenants(self) -> bool:
        """Serve all tenants there are, if these are few; whether there are any."""
        given = self._tenants
        if given is not None:
            tenants = await self._repeater(
                "tenants", lambda: self._gateway.weights(given), look=True
            )
        else:
            tenants = await self._repeater(
                "tenants_with_work",
                lambda: self._gateway.granted_tenants(_MOST_RESIDENT + 1),
                look=True,
            )
            self._resident = len(tenants) <= _MOST_RESIDENT
        if self._resident:
            self._serve_these(tenants)
        return bool(tenants)

    def _serve_these(self, tenants: dict[str, int], *, once: bool = False) -> None:
        self._serving = list(tenants)
        for a_round in self._rounds:
            a_round.serve(tenants, once=once)

    async def _watch_tenants(self) -> None:
        while self._tenants is None:
            if self._resident:
                await asyncio.sleep(self._config.runner.poll_max_ms / 1000)
            try:
                if not self._resident:
                    await self._go_round()
                await self._refresh_tenants()
            except (GaveUp, psycopg.Error) as error:
                logger.error("tenants_with_work failed: %s", error)
                await asyncio.sleep(self._config.runner.poll_max_ms / 1000)

    async def _go_round(self) -> None:
        """One round of the tenants that have work, page by page: each look is taken once in each
        of them whose turn it is by its weight, so with equal weights none waits for longer than a
        round. After a round without any a pause."""
        runner = self._config.runner
        longest = runner.poll_max_ms / 1000
        within = max(longest, runner.idle_grace_s) if self._until_idle else longest
        activity, seen = self._activity, 0
        after: str | None = None
        self._stirred.clear()
        for a_round in self._rounds:
            a_round.begin_round()
        while True:
            page = await self._repeater(
                "tenants_with_work",
                functools.partial(self._gateway.tenants_with_work, _PAGE, after, within),
                look=True,
            )
            seen += len(page)
            self._serve_these(page, once=True)
            for a_round in self._rounds:
                await a_round.passed()
            if len(page) < _PAGE:
                break
            after = next(reversed(page))
        self._idle_round = -1 if seen else activity
        if self._activity != activity:
            self._round_pause = 0.0
            return
        # Work for others, or work that is not due yet: it is looked at like time.
        shortest, longest = runner.poll_min_ms / 1000, min(longest, _DEFAULT_TICK_S)
        self._round_pause = min(max(self._round_pause * 2, shortest), longest)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._round_pause):
                await self._stirred.wait()

    async def _watch_idle(self) -> None:
        loop = asyncio.get_running_loop()
        grace = self._config.runner.idle_grace_s
        while not (  # noqa: ASYNC110  several conditions at once
            self._idle(loop.time() + grace) and await self._nobody_works()
        ):
            await asyncio.sleep(0.01)
        await self._unserved.look(self._serving)
        logger.info("nothing is due within %g s", grace)
        self.stop()

    async def _nobody_works(self) -> bool:
        """Whether no lease is held: what another runner has in hand, dead or alive, comes back."""
        try:
            if self._resident:
                held = [await self._gateway.leased(tenant) for tenant in self._serving]
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
        return not (self.away or len(self._attempts) or self.results.pending or self._sending)

    def _idle(self, horizon: float) -> bool:
        if len(self._attempts) or self.results.pending or self._sending:
            return False
        if not self._resident:
            return self._idle_round == self._activity
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
        driven = _counted(Counter({_KINDS.get(k, k): n for k, n in self._ticked.items()}))
        parts = [done, driven and f"driven: {driven}"]
        return "; ".join(part for part in parts if part) or "nothing to do"

    def _types(self) -> list[str]:
        return sorted(name for group in self._groups for name in group.handlers)


def _groups(worker: Worker, concurrency: int, threads: int) -> list[_Group]:
    """Handlers with a number of their own alone; the others share, coroutines and threads."""
    alone = [h for h in worker.handlers.values() if h.concurrency is not None]
    groups = [_Group({h.task_type: h}, Slots(h.concurrency or 1)) for h in alone]
    for is_async, size in ((True, concurrency), (False, threads)):
        shared = [
            h for h in worker.handlers.values() if h.concurrency is None and h.is_async == is_async
        ]
        for first in range(0, len(shared), _MOST_TYPES):
            some = shared[first : first + _MOST_TYPES]
            groups.append(_Group({h.task_type: h for h in some}, Slots(size)))
    return groups


async def _configure(connection: AsyncConnection) -> None:
    connection.prepare_threshold = 0


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items()) if n)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()

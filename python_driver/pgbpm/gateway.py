"""The calls of ``bpm.*`` a runner makes: one function each, over a pool, nothing decided here.

Set-based calls take a list of JSON texts (one per item, written by :mod:`pgbpm.jsontext`), so that
an item is serialised once, where it arises.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from pgbpm.db import AsyncPool
from pgbpm.ear import Answer, Ear
from pgbpm.jsontext import read_exact

LOWEST_API, HIGHEST_API = 1, 1
"""The versions of the database's functions this package can drive (``bpm.api_version()``)."""

_CONNECTION_S = 5.0
_CONNECTION_AWAY_S = 0.3
_ANSWER_S = 60.0
"""Longer than any call may take (they have lock timeouts); past it the connection is dead."""

_CLAIM = """
select c.{what}{cast} as items, c.positions::text as positions,
       extract(epoch from c.next_due_at - clock_timestamp())::float8 as due_in,
       extract(epoch from clock_timestamp())::float8 as server_time
  from bpm.claim_{what}_at({arguments}, p_limit => %s, p_lease => make_interval(secs => %s),
                           p_positions => %s::jsonb, p_tenant_id => %s) c
"""
_CLAIM_TASKS = _CLAIM.format(
    what="tasks", cast="", arguments="p_worker => %s, p_types => %s::text[]"
)
CLAIM_AT_HAND = (
    "pgbpm_claim_tasks (text, text[], int, float8, jsonb, text) as"
    + _CLAIM_TASKS.replace("%s", "${}").format(*range(1, 7))
)
"""The same for the connection that listens."""
_CLAIM_COMMANDS = _CLAIM.format(
    what="commands", cast="::text", arguments="p_worker => %s, p_kinds => %s::text[]"
)
_CLAIM_PROBES = """
select p.command_id::text as command_id, p.fencing_token, p.destination_code, p.destination,
       extract(epoch from p.lease_until - clock_timestamp())::float8 as left_s
  from bpm.claim_probes(p_worker => %s, p_limit => %s, p_kinds => %s::text[], p_tenant_id => %s) p
"""
_TICK = """
select t.done, t.positions::text as positions,
       extract(epoch from t.next_due_at - clock_timestamp())::float8 as due_in
  from bpm.tick(p_limit => %s, p_positions => %s::jsonb, p_tenant_id => %s) t
"""
_SET_CALL = "select * from bpm.{function}(p_items => %s::jsonb, p_tenant_id => %s)"
_EXTEND = """
select e.task_id, e.outcome, extract(epoch from e.lease_until - clock_timestamp())::float8 as left_s
  from bpm.extend_leases(p_items => %s::jsonb, p_lease => make_interval(secs => %s),
                         p_tenant_id => %s) e
"""
_COMPLETE = """
select c.outcome
  from jsonb_to_record(%s::jsonb) i(task_id uuid, fencing_token bigint, variables jsonb,
                                    evidence jsonb, facts jsonb, verdict text,
                                    reasons jsonb)
 cross join lateral bpm.complete_task(
   p_task_id => i.task_id, p_fencing_token => i.fencing_token, p_variables => i.variables,
   p_evidence => i.evidence, p_facts => i.facts, p_verdict => i.verdict,
   p_reasons => i.reasons, p_tenant_id => %s) c
"""
_THROW = """
select t.outcome from bpm.throw_error(
  p_task_id => %s::uuid, p_fencing_token => %s, p_error_code => %s, p_message => %s,
  p_variables => %s::jsonb, p_tenant_id => %s) t
"""
_CLAIM_EVENTS = """
select c.subscription, c.fencing_token, c.notify_channel, c.destination, c.published_to,
       c.events::text as events,
       extract(epoch from c.lease_until - clock_timestamp())::float8 as left_s
  from bpm.claim_domain_events(p_worker => %s, p_kinds => %s::text[], p_tenant_id => %s) c
"""
_MARK_PUBLISHED = """
select bpm.mark_published(p_subscription => %s, p_fencing_token => %s, p_published_to => %s,
                          p_error => %s::jsonb, p_tenant_id => %s) as outcome
"""
_NEXT_PROBE = """
select extract(epoch from c.asked_at - clock_timestamp())::float8 as due_in
  from bpm.command c where c.tenant_id = %s and c.asked_at is not null order by c.asked_at limit 1
"""

MOST_UNSERVED = 1000
"""No more ready tasks are looked at in one tenant."""

_UNSERVED = """
select r.task_type, count(*)::int as ready
  from (select t.task_type
          from bpm.task t
         where t.tenant_id = %s and t.state = 'Ready'
           and t.task_type <> 'bpm:user' and t.task_type <> all (%s::text[])
         limit %s) r
 group by r.task_type order by r.task_type
"""

_CALLER = "select coalesce(nullif(current_setting('role'), 'none'), session_user::text) as role"

_LEASED = """
select (select count(*) from bpm.task t where t.tenant_id = %s and t.state = 'Executing')
     + (select count(*) from bpm.command c
         where c.tenant_id = %s and c.state in ('Sending', 'Reconciling')) as held
"""

_LEASED_ANYWHERE = """
select exists (select from bpm.task t where t.state = 'Executing')
    or exists (select from bpm.command c where c.state = 'Sending') as held
"""
_GRANTED = "bpm.tenants_in_turn(0, p_limit => %s, p_idle => true) t"
_WITH_WORK = """bpm.tenants_in_turn(
  0, p_limit => %s, p_after => %s, p_within => make_interval(secs => %s)) t"""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim gave: the items, where to go on, and when it was asked.

    ``due_in``: seconds until the next one falls due (None: none known). ``server_time``: epoch
    seconds of the database after the claim; ``asked_at``: event loop time before it.
    """

    items: list[Row]
    positions: str | None
    due_in: float | None
    server_time: float
    asked_at: float


@dataclass(frozen=True, slots=True)
class Begun:
    """A claim that was sent over the connection that listens."""

    ear: Ear
    answer: asyncio.Future[Answer | None]
    asked_at: float


@dataclass(frozen=True, slots=True)
class Ticked:
    """What a tick did, per kind, and seconds until the next thing falls due."""

    done: dict[str, int]
    positions: str | None
    due_in: float | None


class Gateway:
    """Calls of one runner. Every method is one statement in one transaction."""

    def __init__(self, pool: AsyncPool) -> None:
        self._pool = pool
        self.hurried: Callable[[], bool] = lambda: False
        """Whether to wait only shortly for a connection: the server is away, ask again soon."""
        self.ear: Callable[[], Ear | None] = lambda: None
        """The connection that listens, where claims may go over it."""

    async def _rows(self, query: str, *parameters: Any) -> list[Row]:
        wait = _CONNECTION_AWAY_S if self.hurried() else _CONNECTION_S
        async with self._pool.connection(timeout=wait) as conn:
            try:
                async with asyncio.timeout(_ANSWER_S):
                    cursor = await conn.execute(query, parameters)
                    return await cursor.fetchall()
            except TimeoutError:
                raise psycopg.OperationalError(f"no answer within {_ANSWER_S:g} s") from None

    async def _row(self, query: str, *parameters: Any) -> Row:
        return (await self._rows(query, *parameters))[0]

    async def api_version(self) -> tuple[int, int]:
        """Lowest and highest version of the functions the database serves."""
        row = await self._row("select v.lowest, v.highest from bpm.api_version() v")
        return row["lowest"], row["highest"]

    async def granted_tenants(self, limit: int) -> dict[str, int]:
        """Active tenants this login may work for, whether there is work or not: their weights."""
        rows = await self._rows(f"select t.tenant_id, t.weight from {_GRANTED}", limit)
        return {row["tenant_id"]: row["weight"] for row in rows}

    async def weights(self, tenants: Sequence[str]) -> dict[str, int]:
        """The weights of these tenants; 1 where this login may not look."""
        rows = await self._rows(
            "select t.tenant_id, t.weight from bpm.tenant t where t.tenant_id = any (%s)",
            list(tenants),
        )
        return dict.fromkeys(tenants, 1) | {row["tenant_id"]: row["weight"] for row in rows}

    async def tenants_with_work(
        self, limit: int, after: str | None, within: float
    ) -> dict[str, int]:
        """Tenants behind ``after`` with something ready, or due within so many seconds, sorted,
        with their weights.

        Fewer than ``limit``: that was the last one.
        """
        query = f"select t.tenant_id, t.weight from {_WITH_WORK}"
        rows = await self._rows(query, limit, after, within)
        return {row["tenant_id"]: row["weight"] for row in rows}

    async def leased_anywhere(self) -> bool:
        """Whether anybody holds a lease in any tenant this login may see."""
        return bool((await self._row(_LEASED_ANYWHERE))["held"])

    async def claim_tasks(
        self, tenant: str, worker: str, types: Sequence[str], limit: int,
        lease: float | None, positions: str | None,
    ) -> Claim:  # fmt: skip
        """Up to ``limit`` (1 to 1000) ready tasks of ``types`` (1 to 100)."""
        begun = self.begin_claim(tenant, worker, types, limit, lease, positions)
        claim = await self.claimed(begun) if begun else None
        if claim is not None:
            return claim
        asked_at = asyncio.get_running_loop().time()
        row = await self._row(_CLAIM_TASKS, worker, list(types), limit, lease, positions, tenant)
        return Claim(
            row["items"] or [], row["positions"], row["due_in"], row["server_time"], asked_at
        )

    def begin_claim(
        self, tenant: str, worker: str, types: Sequence[str], limit: int,
        lease: float | None, positions: str | None,
    ) -> Begun | None:  # fmt: skip
        """Send the same over the connection that listens, if it is free; see :meth:`claimed`."""
        ear = self.ear()
        if ear is None or not ear.free:
            return None
        asked_at = asyncio.get_running_loop().time()
        seconds = None if lease is None else repr(float(lease))
        parameters = [worker, _array(types), str(limit), seconds, positions, tenant]
        return Begun(ear, ear.ask(parameters), asked_at)

    async def claimed(self, begun: Begun) -> Claim | None:
        """What a claim gave; None: it was refused, and is to be asked again to know why."""
        giving_up = asyncio.get_running_loop().call_later(_ANSWER_S, begun.ear.give_up)
        try:
            row = await begun.answer
        finally:
            giving_up.cancel()
        if row is None:
            return None
        items, positions, due_in, server_time = row
        assert server_time is not None
        return Claim(
            json.loads(items.decode(begun.ear.encoding)) if items else [],
            positions.decode(begun.ear.encoding) if positions is not None else None,
            float(due_in) if due_in is not None else None,
            float(server_time),
            begun.asked_at,
        )

    async def claim_commands(
        self, tenant: str, worker: str, kinds: Sequence[str], limit: int, positions: str | None
    ) -> Claim:
        """Up to ``limit`` commands to destinations of ``kinds``.

        Their numbers are read exactly (for the hash).
        """
        asked_at = asyncio.get_running_loop().time()
        row = await self._row(_CLAIM_COMMANDS, worker, list(kinds), limit, None, positions, tenant)
        items = read_exact(row["items"] or "[]")
        return Claim(items, row["positions"], row["due_in"], row["server_time"], asked_at)

    async def claim_probes(
        self, tenant: str, worker: str, kinds: Sequence[str], limit: int
    ) -> tuple[list[Row], float | None]:
        """Up to ``limit`` commands whose receivers are to be asked; ``left_s``: of the lease.

        If there are none: seconds until the next one.
        """
        items = await self._rows(_CLAIM_PROBES, worker, limit, list(kinds), tenant)
        if items:
            return items, None
        due = await self._rows(_NEXT_PROBE, tenant)
        return [], due[0]["due_in"] if due else None

    async def claim_events(self, tenant: str, worker: str, kinds: Sequence[str]) -> Row | None:
        """The next domain events of a subscription, or None; ``left_s``: of the lease."""
        rows = await self._rows(_CLAIM_EVENTS, worker, list(kinds), tenant)
        if not rows:
            return None
        return {**rows[0], "events": read_exact(rows[0]["events"])}

    async def mark_published(
        self, tenant: str, subscription: str, fencing_token: int, to: int, error: str | None
    ) -> str:
        """Say up to which number a subscriber was told; ``error`` is a JSON text."""
        row = await self._row(_MARK_PUBLISHED, subscription, fencing_token, to, error, tenant)
        return str(row["outcome"])

    async def tick(self, tenant: str, limit: int | None, positions: str | None) -> Ticked:
        """Drive what falls due by itself: timers, expired leases, inbox, parked tokens, …

        ``limit``: rows per kind; None: as set in the database.
        """
        row = await self._row(_TICK, limit, positions, tenant)
        return Ticked(row["done"] or {}, row["positions"], row["due_in"])

    async def leased(self, tenant: str) -> int:
        """How many tasks and commands anybody holds under a lease, run out or not."""
        return int((await self._row(_LEASED, tenant, tenant))["held"])

    async def unserved(self, tenant: str, types: Sequence[str]) -> list[Row]:
        """``task_type`` and ``ready`` (how many of the first 1000) of tasks of other types."""
        return await self._rows(_UNSERVED, tenant, list(types), MOST_UNSERVED)

    async def caller(self) -> str:
        """The role the engine sees."""
        return str((await self._row(_CALLER))["role"])

    async def set_call(self, function: str, tenant: str, items: Sequence[str]) -> list[Row]:
        """``complete_tasks``, ``fail_tasks``, ``release_tasks``, ``mark_commands``
        or ``mark_probes``.

        One row per item, each with ``outcome`` and the id of its item.
        """
        query = _SET_CALL.format(function=function)
        return await self._rows(query, f"[{','.join(items)}]", tenant)

    async def extend_leases(
        self, tenant: str, items: Sequence[str], lease: float | None
    ) -> list[Row]:
        """One row per task: ``task_id``, ``outcome``, ``left_s`` (seconds the lease still runs)."""
        return await self._rows(_EXTEND, f"[{','.join(items)}]", lease, tenant)

    async def complete_task(self, tenant: str, item: str) -> Row:
        """The single form, which raises where ``complete_tasks`` has an outcome."""
        return await self._row(_COMPLETE, item, tenant)

    async def throw_error(
        self, tenant: str, task_id: str, fencing_token: int,
        code: str, message: str | None, variables: str,
    ) -> Row:  # fmt: skip
        """Throw a BPMN error at the node of a leased task; ``variables`` is a JSON text."""
        return await self._row(_THROW, task_id, fencing_token, code, message, variables, tenant)

    async def notify(self, channel: str, payload: str) -> None:
        """Wake other runners that sleep. Never part of a transaction that changes anything."""
        await self._rows("select pg_notify(%s, %s)", channel, payload)


def _array(texts: Sequence[str]) -> str:
    """As PostgreSQL reads arrays."""
    return f"{{{','.join(map(_quoted, texts))}}}"


@functools.lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""What came out of attempts, on its way to the database: batched, repeated, its fate logged."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import psycopg

from pgbpm.batcher import Batcher
from pgbpm.config import RunnerConfig
from pgbpm.gateway import Gateway
from pgbpm.jsontext import write
from pgbpm.repeat import GaveUp, Repeater, explain, is_refusal
from pgbpm.sending import Report
from pgbpm.worker import BpmnError, Task

logger = logging.getLogger("pgbpm.runner")

_UNMET = "The result does not meet the schema of its task"

_GOOD = {
    "complete_tasks": {"Completed"},
    "fail_tasks": {"Retrying", "Failed"},
    "release_tasks": {"Released"},
}


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a set-based call, as JSON text, and whose it is."""

    id: str
    text: str
    task: Task | None = None
    recorded: bool = False
    """Whether evidence or facts come with it."""


class Results:
    """Stores results in batches. ``moved(tenant)`` is called after each call that was accepted."""

    def __init__(
        self,
        gateway: Gateway,
        repeater: Repeater,
        config: RunnerConfig,
        moved: Callable[[str], None],
    ) -> None:
        self._gateway = gateway
        self._repeater = repeater
        self._moved = moved
        self.counts: Counter[str] = Counter()
        """Outcomes seen, by name."""
        self._singles: set[asyncio.Task[None]] = set()
        self._answered_some = asyncio.Event()
        self._gate_open = False
        self._abandoned = False

        def batcher(function: str, id_name: str, writers: int) -> Batcher[Item]:
            async def send(tenant: str, items: list[Item]) -> None:
                await self._send(function, id_name, tenant, items)
                asyncio.get_running_loop().call_soon(self._answered_some.set)

            return Batcher(
                send,
                max_items=min(config.batch_size, 1000),
                max_age=config.flush_ms / 1000,
                writers=writers,
            )

        self._completes = batcher("complete_tasks", "task_id", config.writers)
        self._fails = batcher("fail_tasks", "task_id", 1)
        self._releases = batcher("release_tasks", "task_id", 1)
        self._marks = batcher("mark_commands", "command_id", 1)
        self._probes = batcher("mark_probes", "command_id", 1)
        self._batchers = (self._completes, self._fails, self._releases, self._marks, self._probes)

    @property
    def pending(self) -> int:
        """Results that the database has not answered yet."""
        return sum(batcher.pending for batcher in self._batchers) + len(self._singles)

    async def below(self, limit: int) -> None:
        """Wait while ``limit`` or more results are pending, so that claims do not run ahead."""
        while self.pending >= limit and not self._gate_open:
            self._answered_some.clear()
            await self._answered_some.wait()

    def open_gate(self) -> None:
        """Nobody waits in :meth:`below` any more."""
        self._gate_open = True
        self._answered_some.set()

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            for batcher in self._batchers:
                group.create_task(batcher.run())

    def abandon(self) -> None:
        """The database is gone and we do not wait for it: what is lost is not told one by one."""
        self._abandoned = True
        self.open_gate()

    async def drained(self) -> None:
        """Wait until everything has been answered (or given up)."""
        while self.pending:
            await asyncio.gather(*self._singles, *(b.drained() for b in self._batchers))

    # -- what happened ---------------------------------------------------------------------------

    def complete(self, tenant: str, task: Task, variables: str, record: str = "") -> None:
        """The handler returned; ``variables`` is the JSON text of what it changes.

        ``record``, if not empty, is that of an object with evidence and facts.
        """
        more = f",{record[1:-1]}" if record else ""
        text = f'{{{_who(task)},"variables":{variables}{more}}}'
        self._completes.put(tenant, Item(task.task_id, text, task, bool(record)))

    def fail(
        self,
        tenant: str,
        task: Task,
        error: dict[str, Any],
        *,
        retryable: bool = True,
        retry_in: float | None = None,
    ) -> None:
        """The handler failed."""
        wait = "" if retry_in is None else f',"retry_in_seconds":{retry_in!r}'
        flag = "true" if retryable else "false"
        text = f'{{{_who(task)},"error":{write(error)},"retryable":{flag}{wait}}}'
        self._fails.put(tenant, Item(task.task_id, text, task))

    def release(self, tenant: str, task: Task) -> None:
        """The attempt was not carried through and somebody else should have the task at once."""
        self._releases.put(tenant, Item(task.task_id, f"{{{_who(task)}}}", task))

    def mark(self, tenant: str, command_id: str, fencing_token: int, report: Report) -> None:
        """A command was sent, or not, or nobody knows."""
        self.counts[report.outcome] += 1
        self._marks.put(tenant, Item(command_id, report.item(command_id, fencing_token)))

    def mark_probe(self, tenant: str, command_id: str, fencing_token: int, report: Report) -> None:
        """A receiver was asked for a command."""
        self.counts[f"probe {report.outcome}"] += 1
        self._probes.put(tenant, Item(command_id, report.item(command_id, fencing_token)))

    def throw(self, tenant: str, task: Task, error: BpmnError, variables: str) -> None:
        """The handler raised a BPMN error."""
        self._alone(self._throw(tenant, task, error, variables))

    # -- to the database -------------------------------------------------------------------------

    async def _send(self, function: str, id_name: str, tenant: str, items: list[Item]) -> None:
        texts = [item.text for item in items]
        try:
            rows = await self._repeater(
                function, lambda: self._gateway.set_call(function, tenant, texts)
            )
        except GaveUp as error:
            level = logging.DEBUG if self._abandoned else logging.ERROR
            logger.log(level, "%s of %d items was not answered: %s", function, len(items), error)
            return
        except psycopg.Error as error:
            if len(items) > 1:  # one of them spoils the call: find out which
                for item in items:
                    await self._send(function, id_name, tenant, [item])
            else:
                logger.error("%s of %s was refused: %s", function, items[0].id, explain(error))
                if is_refusal(error):
                    self._refused(function, tenant, items[0], explain(error))
            return
        by_id = {item.id: item for item in items}
        for row in rows:
            self._answered(function, tenant, by_id[str(row[id_name])], str(row["outcome"]))
        self._moved(tenant)

    def _answered(self, function: str, tenant: str, item: Item, outcome: str) -> None:
        if function not in {"mark_commands", "mark_probes"}:
            self.counts[outcome] += 1
        if function not in _GOOD or outcome in _GOOD[function]:
            if outcome == "LeaseLost":
                logger.warning("command %s: the report came too late", item.id)
            return
        logger.warning("%s of task %s: %s; not used", function, item.id, outcome)
        if outcome == "Rejected" and item.task is not None:
            self._alone(self._reject(tenant, item.task, item.text))
        elif outcome == "Conflict" and item.recorded and item.task is not None:
            # If the task was answered before, this changes nothing.
            reason = "a subject has moved on, or evidence was purged"
            self.fail(tenant, item.task, {"type": "RecordConflict", "message": reason})

    def _refused(self, function: str, tenant: str, item: Item, reason: str) -> None:
        """A result that can never be stored fails its task, instead of leaving it to its lease."""
        if function == "complete_tasks" and item.task is not None:
            error = {"type": "ResultRefused", "message": reason[:2000]}
            self.fail(tenant, item.task, error, retryable=False)

    async def _reject(self, tenant: str, task: Task, text: str) -> None:
        """The single form of the call says why."""
        reason = "the engine refused the variables"
        with contextlib.suppress(GaveUp):
            try:
                await self._repeater(
                    "complete_task", lambda: self._gateway.complete_task(tenant, text)
                )
            except psycopg.Error as error:
                reason = error.diag.message_primary or reason
        # Another attempt may bring a result that meets the schema; what the engine does not take
        # at all, it would bring again.
        unmet = reason.startswith(_UNMET)
        kind = "ResultInvalid" if unmet else "ResultRefused"
        self.fail(tenant, task, {"type": kind, "message": reason[:2000]}, retryable=unmet)

    def _alone(self, call: Coroutine[Any, Any, None]) -> None:
        single = asyncio.create_task(call)
        self._singles.add(single)
        single.add_done_callback(self._singles.discard)

    async def _throw(self, tenant: str, task: Task, error: BpmnError, variables: str) -> None:
        try:
            row = await self._repeater(
                "throw_error",
                lambda: self._gateway.throw_error(
                    tenant, task.task_id, task.fencing_token, error.code, error.message, variables
                ),
            )
        except GaveUp as reason:
            level = logging.DEBUG if self._abandoned else logging.ERROR
            logger.log(level, "throw_error of task %s was not answered: %s", task.task_id, reason)
        except psycopg.Error as reason:
            logger.warning("throw_error of task %s: %s; not used", task.task_id, explain(reason))
            if is_refusal(reason):
                detail = {"type": "ErrorRefused", "message": explain(reason)[:2000]}
                self.fail(tenant, task, detail, retryable=False)
        else:
            self.counts["Thrown"] += 1
            logger.info("task %s threw %s: %s", task.task_id, error.code, row["outcome"])
            self._moved(tenant)


def _who(task: Task) -> str:
    return f'"task_id":"{task.task_id}","fencing_token":{task.fencing_token}'

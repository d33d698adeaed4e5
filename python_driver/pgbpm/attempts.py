"""Attempts under way: handlers run with bounded concurrency while their leases are extended."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import logging
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import psycopg

from pgbpm.artifacts import Artifacts, TaskArtifacts
from pgbpm.config import ArtifactsConfig, EncryptionConfig, RunnerConfig
from pgbpm.encryption import SealedError
from pgbpm.gateway import Claim, Gateway, Row
from pgbpm.jsontext import NotJson, write_object
from pgbpm.places import user_place
from pgbpm.repeat import explain, is_away, is_conflict
from pgbpm.results import Results
from pgbpm.sealing import Opened, Vault
from pgbpm.slots import Slots
from pgbpm.worker import BpmnError, Done, NonRetryable, Retry, Task, TaskHandler

logger = logging.getLogger("pgbpm.runner")

_LONGEST_TRACEBACK = 4000
_PLAIN_NAMES = {"builtins", "pgbpm.worker", "pgbpm.jsontext", "pgbpm.encryption", "pgbpm.artifacts"}
_LARGEST_CALL = 1000
_BEAT_RETRY_S = 0.2
_LAST_WORDS_S = 1.0


@dataclass(slots=True, eq=False)
class Attempt:
    """One claimed task in the hands of its handler. Times are those of the event loop."""

    tenant: str
    task: Task
    handler: TaskHandler
    slots: Slots
    beat_at: float
    deadline: float
    opened: Opened
    running: asyncio.Task[None] | None = None
    ended_by: str | None = None
    """Why its result must not be used: the outcome of a heartbeat, ``Expired`` or ``Drained``."""

    def keep_silent(self, values: list[Any]) -> None:
        """Values that its messages must not show, besides those it was given."""
        if values:
            self.opened = dataclasses.replace(
                self.opened, redactor=self.opened.redactor.with_values(values)
            )


class Attempts:
    """Starts handlers, keeps their leases alive, hands their results on."""

    def __init__(
        self,
        gateway: Gateway,
        results: Results,
        config: RunnerConfig,
        vault: Vault | None = None,
        artifacts: Artifacts | None = None,
    ) -> None:
        self._gateway = gateway
        self._results = results
        self._lease_s = config.lease_s
        self._vault = vault or Vault(EncryptionConfig())
        self._artifacts = artifacts or Artifacts(ArtifactsConfig())
        self._threads = ThreadPoolExecutor(config.threads, thread_name_prefix="pgbpm-handler")
        self._under_way: set[Attempt] = set()
        self._beats: set[asyncio.Task[None]] = set()
        self._started = asyncio.Event()
        self._ended = asyncio.Event()
        self._level = logging.WARNING

    def __len__(self) -> int:
        return len(self._under_way)

    def start(
        self, tenant: str, claim: Claim, handlers: dict[str, TaskHandler], slots: Slots
    ) -> None:
        """Begin work on what was claimed; the places must have been taken."""
        for row in claim.items:
            opened = self._vault.open(tenant, row["variables"] or {})
            task = _task(row, opened, TaskArtifacts(self._artifacts, tenant))
            lease = task.lease_until.timestamp() - claim.server_time
            attempt = Attempt(
                tenant,
                task,
                handlers[task.task_type],
                slots,
                beat_at=claim.asked_at + lease / 3,
                deadline=claim.asked_at + lease,
                opened=opened,
            )
            self._under_way.add(attempt)
            attempt.running = asyncio.create_task(self._run(attempt))
            attempt.running.add_done_callback(partial(self._over, attempt))
        self._started.set()

    # -- the handler -----------------------------------------------------------------------------

    def _over(self, attempt: Attempt, running: asyncio.Task[None]) -> None:
        """Also called for one that was cancelled before its first step."""
        del running
        attempt.slots.give()
        self._under_way.discard(attempt)
        self._ended.set()

    async def _run(self, attempt: Attempt) -> None:
        if not await attempt.slots.enter():
            self._results.release(attempt.tenant, attempt.task)
            return
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            if attempt.ended_by is None:  # it may have been lost in the queue
                await self._handle(attempt)
        finally:
            attempt.slots.leave(loop.time() - began)

    async def _handle(self, attempt: Attempt) -> None:
        task = attempt.task
        try:
            given = await self._call(attempt.handler, task)
            done = given if isinstance(given, Done) else Done(given)
            text = self._sealed(attempt, done.variables)
            record = self._record(attempt, done)
        except BpmnError as error:
            if not self._unused(attempt):
                self._throw(attempt, error)
        except asyncio.CancelledError:
            if not self._unused(attempt):
                self._failed(attempt, "Cancelled", "the handler was cancelled", None)
        except (Exception, SystemExit) as error:
            if not self._unused(attempt):
                self._raised(attempt, error)
        else:
            if not self._unused(attempt):
                self._results.complete(attempt.tenant, task, text, record)

    async def _call(self, handler: TaskHandler, task: Task) -> Any:
        if handler.is_async:
            return await handler.function(task)
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, context.run, _in_thread, handler, task)

    def _sealed(self, attempt: Attempt, variables: Any) -> str:
        """What a handler gave, as JSON text, with what is to be encrypted encrypted."""
        sealed, seen = self._vault.seal(attempt.tenant, variables, before=attempt.opened)
        attempt.keep_silent(seen)
        return write_object(sealed)

    def _record(self, attempt: Attempt, done: Done) -> str:
        """Evidence, facts and doubts of a handler, as JSON text; empty when there are none.

        Only what is wrapped is encrypted here: a fact has no variable whose place it could take.
        """
        if not done.evidence and not done.facts and done.review is None:
            return ""
        told = {
            "evidence": [dict(e) for e in done.evidence],
            "facts": [dict(f) for f in done.facts],
        }
        record, seen = self._vault.seal(attempt.tenant, told)
        attempt.keep_silent(seen)
        values = [fact.get("value") for fact in record["facts"]]
        if attempt.opened.redactor.data(values) != values:
            raise SealedError("a fact holds a value that is kept encrypted; wrap it in Encrypted")
        if done.review is not None:
            reasons = [done.review] if isinstance(done.review, str) else list(done.review)
            record = {**record, "verdict": "NeedsReview", "reasons": reasons}
        return write_object(record)

    def _unused(self, attempt: Attempt) -> bool:
        """Whether the result must be dropped because the task is not ours any more."""
        if attempt.ended_by is None:
            return False
        logger.log(
            self._level,
            "result of %s not used: %s", _name(attempt.task), attempt.ended_by,
            extra=_extra(attempt.task),
        )  # fmt: skip
        return True

    def _throw(self, attempt: Attempt, error: BpmnError) -> None:
        try:
            variables = self._sealed(attempt, error.variables)
        except (NotJson, SealedError) as reason:
            self._raised(attempt, reason)
        else:
            said = error.message and attempt.opened.redactor.text(error.message)
            self._results.throw(
                attempt.tenant, attempt.task, BpmnError(error.code, said), variables
            )

    def _raised(self, attempt: Attempt, error: BaseException) -> None:
        kind = type(error)
        name = kind.__qualname__
        if kind.__module__ not in _PLAIN_NAMES:
            name = f"{kind.__module__}.{name}"
        meant = isinstance(error, Retry | NonRetryable | NotJson | SealedError)
        self._failed(
            attempt,
            name,
            " ".join(str(error).split()) if isinstance(error, SealedError) else str(error),
            None if meant else _traceback(error),
            place=None if meant else user_place(error),
            retryable=not isinstance(error, NonRetryable | NotJson),
            retry_in=error.in_seconds if isinstance(error, Retry) else None,
        )

    def _failed(
        self,
        attempt: Attempt,
        kind: str,
        message: str,
        trace: str | None,
        *,
        place: str | None = None,
        retryable: bool = True,
        retry_in: float | None = None,
    ) -> None:
        redact = attempt.opened.redactor.text
        error = {"type": kind, "message": _clean(redact(message))[:2000]}
        if trace:
            error["traceback"] = _clean(redact(trace))
        logger.warning(
            "%s failed in attempt %d: %s: %s%s", _name(attempt.task), attempt.task.attempt, kind,
            error["message"], f" ({place})" if place else "", extra=_extra(attempt.task),
        )  # fmt: skip
        if trace:
            logger.debug("traceback of %s:\n%s", _name(attempt.task), error["traceback"].rstrip())
        self._results.fail(
            attempt.tenant, attempt.task, error, retryable=retryable, retry_in=retry_in
        )

    # -- the lease -------------------------------------------------------------------------------

    async def beat(self) -> None:
        """Extend leases at a third of their length, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            self._started.clear()
            held = [attempt for attempt in self._under_way if attempt.ended_by is None]
            if not held:
                await self._started.wait()
                continue
            wait = min(min(a.beat_at, a.deadline) for a in held) - loop.time()
            if wait > 0:
                try:
                    async with asyncio.timeout(wait):
                        await self._started.wait()
                except TimeoutError:
                    pass
                continue
            self._extend_due(held)

    def _extend_due(self, held: list[Attempt]) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        due: dict[str, list[Attempt]] = {}
        for attempt in held:
            if attempt.deadline <= now:
                self._lose(attempt, "Expired")
            elif attempt.beat_at <= now + (attempt.deadline - now) / 6:
                due.setdefault(attempt.tenant, []).append(attempt)
        for tenant, attempts in due.items():
            for first in range(0, len(attempts), _LARGEST_CALL):
                some = attempts[first : first + _LARGEST_CALL]
                for attempt in some:  # asked again by then, should this call hang
                    attempt.beat_at = now + (attempt.deadline - now) / 3
                beat = asyncio.create_task(self._extend(tenant, some))
                self._beats.add(beat)
                beat.add_done_callback(self._beats.discard)

    async def _extend(self, tenant: str, attempts: list[Attempt]) -> None:
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        items = [
            f'{{"task_id":"{a.task.task_id}","fencing_token":{a.task.fencing_token}}}'
            for a in attempts
        ]
        try:
            rows = await self._gateway.extend_leases(tenant, items, self._lease_s)
        except psycopg.Error as error:
            if not (is_away(error) or is_conflict(error)):
                logger.error("leases were not extended: %s", explain(error))
            now = loop.time()
            for attempt in attempts:
                attempt.beat_at = now + min(_BEAT_RETRY_S, max(attempt.deadline - now, 0.0) / 4)
            return
        by_id = {attempt.task.task_id: attempt for attempt in attempts}
        for row in rows:
            attempt = by_id[str(row["task_id"])]
            if str(row["outcome"]) == "Extended":
                attempt.deadline = asked_at + row["left_s"]
                attempt.beat_at = asked_at + row["left_s"] / 3
            elif attempt in self._under_way:
                self._lose(attempt, str(row["outcome"]))

    def _lose(self, attempt: Attempt, why: str) -> None:
        attempt.ended_by = why
        attempt.task.lease.lost = True
        logger.warning("lease of %s lost: %s", _name(attempt.task), why, extra=_extra(attempt.task))
        if attempt.handler.is_async and attempt.running is not None:
            attempt.running.cancel()

    # -- the end ---------------------------------------------------------------------------------

    async def finish(self, seconds: float) -> bool:
        """Wait until all handlers have ended; release what has not after ``seconds``.

        False if threads are left that nobody can stop: the process must end without them.
        """
        await self._wait_empty(seconds)
        for attempt in await self._end_all():
            logger.warning("%s not finished: released", _name(attempt.task))
            self._results.release(attempt.tenant, attempt.task)
        return not self._under_way

    async def abandon(self) -> bool:
        """End all handlers now, without a word about each: nothing can be stored or released.

        False if threads are left that nobody can stop.
        """
        self._level = logging.DEBUG
        await self._end_all()
        return not self._under_way

    async def _end_all(self) -> list[Attempt]:
        """Cancel what runs, wait a moment for its last words; those whose lease was ours."""
        unfinished = list(self._under_way)
        held = [attempt for attempt in unfinished if attempt.ended_by is None]
        for attempt in unfinished:
            attempt.ended_by = attempt.ended_by or "Drained"
            attempt.task.lease.lost = True
            if attempt.handler.is_async and attempt.running is not None:
                attempt.running.cancel()
        if unfinished:
            await self._wait_empty(_LAST_WORDS_S)
        self._threads.shutdown(wait=False, cancel_futures=True)
        return held

    async def _wait_empty(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while self._under_way:
                    self._ended.clear()
                    await self._ended.wait()
        except TimeoutError:
            pass


def _in_thread(handler: TaskHandler, task: Task) -> Any:
    try:
        return handler.function(task)
    except StopIteration as error:  # a future cannot carry it and would never be done
        raise RuntimeError("the handler raised StopIteration") from error


def _task(row: Row, opened: Opened, artifacts: TaskArtifacts) -> Task:
    return Task(
        task_id=row["task_id"],
        process_instance_id=row["process_instance_id"],
        business_key=row["business_key"],
        node_id=row["node_id"],
        task_type=row["task_type"],
        attempt=row["attempt"],
        fencing_token=row["fencing_token"],
        lease_until=datetime.fromisoformat(row["lease_until"]),
        variables=opened.variables,
        headers=row.get("headers") or {},
        artifacts=artifacts,
    )


def _name(task: Task) -> str:
    return f"{task.task_type} {task.task_id}"


def _extra(task: Task) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "task_type": task.task_type,
        "attempt": task.attempt,
        "process_instance_id": task.process_instance_id,
        "business_key": task.business_key,
    }


def _traceback(error: BaseException) -> str:
    """Where it happened: the last frames, without the values of variables."""
    frames = traceback.format_list(traceback.extract_tb(error.__traceback__)[-8:])
    return "".join(frames)[-_LONGEST_TRACEBACK:]


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()

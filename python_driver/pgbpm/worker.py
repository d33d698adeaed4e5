"""Handlers of service tasks: what a user of the runner writes.

::

    from pgbpm.worker import BpmnError, Retry, Task, Worker

    worker = Worker()

    @worker.task("charge-card", concurrency=8)
    async def charge_card(task: Task) -> dict[str, object]:
        if task.variables["amount"] > 5000:
            raise BpmnError("card-declined", "over the limit")
        return {"charged": True}

A handler is a coroutine function, or a plain function that then runs in a thread. It gets one
:class:`Task` and returns the variables it changes, ``None`` or a :class:`Done`. It may run more
than once for one task (a runner can die after the side effect and before its result is stored):
side effects need ``task.task_id`` as their idempotency key.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pgbpm.artifacts import ArtifactError, Artifacts, TaskArtifacts
from pgbpm.config import ArtifactsConfig
from pgbpm.encryption import SealedError
from pgbpm.sealing import Encrypted

__all__ = [
    "ArtifactError", "BpmnError", "Done", "Encrypted", "LeaseState", "NonRetryable", "Retry",
    "SealedError", "Task", "TaskHandler", "Worker",
]  # fmt: skip

Variables = dict[str, Any]
Handler = Callable[["Task"], Any]
H = TypeVar("H", bound=Handler)


class BpmnError(Exception):
    """Raised by a handler: the business says no. Becomes a BPMN error at the node of the task.

    ``code`` is what an error boundary event names; ``variables`` are merged before it is thrown.
    """

    def __init__(
        self, code: str, message: str | None = None, variables: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.variables = dict(variables or {})

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


class Retry(Exception):
    """Raised by a handler: this attempt failed, try again after ``in_seconds`` (≥ 0).

    ``None`` leaves the pause to the retry policy of the task, as any other exception does.
    """

    def __init__(
        self, in_seconds: float | None = None, message: str = "asked to be retried"
    ) -> None:
        if in_seconds is not None and not 0 <= in_seconds < math.inf:
            raise ValueError(f"in_seconds must be at least 0, not {in_seconds!r}")
        super().__init__(message)
        self.in_seconds = None if in_seconds is None else float(in_seconds)


class NonRetryable(Exception):
    """Raised by a handler: no further attempt can succeed. The task fails with a dead letter."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a handler may return instead of variables: those, and what goes into the record.

    ``evidence``: objects kept elsewhere, ``{"object_key", "sha256" (hex), "mime", "size_bytes",
    "occurred_at"}`` or ``{"evidence_id"}``. ``facts``: ``{"subject_type", "subject_key", "name",
    "value", "evidence": [places in evidence, from 0], "expected_version"}``. Stored together with
    the result, or not at all: see docs/record.md. A subject that has moved on meanwhile fails the
    attempt, which is then tried again.

    ``review``: the handler doubts its result; somebody has to look at it before it counts. The
    texts say why; an empty list says nothing more.
    """

    variables: Mapping[str, Any] | None = field(default=None, repr=False)
    evidence: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    facts: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    review: Sequence[str] | None = None


class LeaseState:
    """What the runner knows of a lease; shared with the thread of the handler."""

    __slots__ = ("lost",)

    def __init__(self) -> None:
        self.lost = False


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt at one task. ``variables`` never appear in its ``repr``."""

    task_id: str
    """Same in every attempt: the idempotency key of the handler's side effects."""
    process_instance_id: str
    business_key: str | None
    node_id: str
    task_type: str
    attempt: int
    """1 for the first attempt."""
    fencing_token: int
    lease_until: datetime
    """By the clock of the database when the task was claimed; the runner extends it."""
    variables: Variables = field(repr=False)
    """In clear. Reading one that cannot be decrypted here raises :class:`SealedError`."""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    """What the drawing tells the worker: task headers, extension properties, the decision of a
    business rule task, the script of a script task."""
    artifacts: TaskArtifacts = field(
        default=TaskArtifacts(Artifacts(ArtifactsConfig()), ""), repr=False, compare=False
    )
    """Large values by reference: ``put(bytes)`` gives a text to return as a variable,
    ``get(text)`` the bytes."""
    lease: LeaseState = field(default_factory=LeaseState, repr=False, compare=False)

    @property
    def lease_lost(self) -> bool:
        """Whether somebody else may have this task now: a long-running plain function should stop
        and return anything, it will not be used. A coroutine is cancelled instead."""
        return self.lease.lost


@dataclass(frozen=True, slots=True)
class TaskHandler:
    """A registered handler."""

    task_type: str
    function: Handler
    concurrency: int | None
    is_async: bool


class Worker:
    """A set of handlers by task type; ``pgbpm run --app module:worker`` serves them."""

    def __init__(self) -> None:
        self.handlers: dict[str, TaskHandler] = {}

    def task(self, task_type: str, *, concurrency: int | None = None) -> Callable[[H], H]:
        """Decorator: the function handles the tasks of ``task_type``.

        ``concurrency`` is the number of its tasks one runner works on at the same time; without it
        the handlers of a runner share ``runner.concurrency`` (coroutines) or ``runner.threads``
        (plain functions). Raises ``ValueError`` for a second handler of the same type.
        """
        if not task_type or len(task_type) > 200:
            raise ValueError(f"a task type has 1 to 200 characters: {task_type!r}")
        if task_type in self.handlers:
            raise ValueError(f"task type {task_type!r} has a handler already")
        if concurrency is not None and concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, not {concurrency!r}")

        def register(function: H) -> H:
            self.handlers[task_type] = TaskHandler(
                task_type, function, concurrency, _is_async(function)
            )
            return function

        return register


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  an object with an async __call__
    )

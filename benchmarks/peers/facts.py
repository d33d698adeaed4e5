"""Who is compared, how each is set up, and what must be known to read its figures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """``processes`` are the numbers of worker processes tried; the best one counts. ``done`` counts
    the instances that have ended. ``itself``: workers start instances themselves."""

    name: str
    package: str
    program: str
    processes: tuple[int, ...]
    done: str
    settings: str
    history: str
    unfair: str
    itself: bool = False


PEERS = (
    Peer(
        "absurd", "absurd-sdk", "absurd", (2, 4, 8),
        "select count(*) from absurd.t_line where state = 'completed'",
        "synchronous workers with one connection each, 20 tasks per claim; 100 spawns in one"
        " transaction",
        "task, run and a checkpoint per step stay; no history of moves",
        "the steps of a task run in one worker without being claimed again; a commit per step",
    ),
    Peer(
        "DBOS", "dbos", "dbos", (1, 2, 4),
        "select count(*) from dbos.workflow_status where status = 'SUCCESS'",
        "synchronous workflows, 8 threads per process, called where they run (no queue)",
        "workflow, inputs and an output per step stay; no history of moves",
        "nothing is claimed: a workflow belongs to the process that started it until somebody"
        " recovers it; a commit per step",
        itself=True,
    ),
    Peer(
        "pgqueuer", "pgqueuer", "pgqueuer", (1, 2, 4),
        "select count(*) from pgqueuer_log where entrypoint = 'third' and status = 'successful'",
        "batch_size 100, asyncpg, all tables logged, its autovacuum settings; 100 jobs per enqueue",
        "a log row per change of state; the jobs themselves are deleted",
        "three jobs without a workflow: that the next is enqueued and that the last is done are"
        " separate commits, so a crash between them does a step twice; completions are batched",
    ),
    Peer(
        "procrastinate", "procrastinate", "procrastinate", (1, 2, 4),
        "select count(*) from procrastinate_jobs where task_name = 'third'"
        " and status = 'succeeded'",
        "concurrency 20, LISTEN/NOTIFY; 100 jobs per batch_defer",
        "finished jobs and an event per change of state stay",
        "three jobs without a workflow, as with pgqueuer; one job per fetch, one commit per change",
    ),
)  # fmt: skip

OURS_SET = "pgbpm, set-based calls"
OURS_RUNNER = "pgbpm, runner processes"
OURS = {
    OURS_SET: (
        "4 workers with one connection each, calls of 100",
        "every move of every token, attempts, results, instances",
        "the worker is the benchmark itself: no handler runs, no payload is decoded",
    ),
    OURS_RUNNER: (
        "2 processes of `pgbpm run` with its default settings; 100 instances per start",
        "every move of every token, attempts, results, instances",
        "each step is claimed anew by whoever is free; completions are batched",
    ),
}
"""Ours in the same table: settings, history, what is unfair."""

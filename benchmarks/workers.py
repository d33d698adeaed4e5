"""Workers with one connection each, in processes that are told over a pipe what to do."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from typing import Any

import psycopg

from benchmarks.systems import SYSTEMS, System, connect

_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.032
_STUCK_S = 60.0
_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Job:
    """Start ``starts`` batches, three claims and completes after each, then help until ``tasks``
    tasks have been completed by all workers together."""

    starts: int
    batch: int
    tasks: int


@dataclass(slots=True)
class Work:
    """What one worker did: ``began`` and ``ended`` (last completion) on the monotonic clock,
    calls and seconds spent per kind of call, tasks completed, claims that came back empty, calls
    repeated after a deadlock or lock timeout."""

    began: float = 0.0
    ended: float = 0.0
    tasks: int = 0
    empty_claims: int = 0
    repeats: int = 0
    calls: dict[str, int] | None = None
    seconds: dict[str, float] | None = None


class Crew:
    """A few workers on one database, ``threads`` of them in each process. Use :func:`crew`."""

    def __init__(self, url: str, system: str, size: int, threads: int, prepared: bool) -> None:
        self.size = size
        self.warmed = 0  # instances that have run before anything was measured
        self._done = _SPAWN.Value("q", 0)
        self._pipes: list[Connection] = []
        self._processes = []
        names = [f"worker-{number}" for number in range(size)]
        self._crowds = [names[first : first + threads] for first in range(0, size, threads)]
        for crowd in self._crowds:
            mine, theirs = _SPAWN.Pipe()
            process = _SPAWN.Process(
                target=_serve,
                args=(url, system, crowd, prepared, theirs, self._done),
                daemon=True,
            )
            process.start()
            theirs.close()
            self._pipes.append(mine)
            self._processes.append(process)
        self._answers()  # connected

    def run(self, instances: int, batch: int, *, tasks: int | None = None) -> list[Work]:
        """Start ``instances`` (shared out evenly) and complete all their tasks, or only complete
        ``tasks`` tasks that are there already. Returns what each worker did."""
        self._done.value = 0
        shares = _share(-(-instances // batch), self.size)
        wanted = tasks if tasks is not None else sum(shares) * batch * 3
        jobs = iter([Job(share, batch, wanted) for share in shares])
        for pipe, crowd in zip(self._pipes, self._crowds, strict=True):
            pipe.send([next(jobs) for _ in crowd])
        return [work for answer in self._answers() for work in answer]

    def close(self) -> None:
        """Let the workers end."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(10)
            if process.is_alive():
                process.kill()

    def _answers(self) -> list[Any]:
        answers = []
        for pipe in self._pipes:
            answer = pipe.recv()
            if isinstance(answer, BaseException):
                raise answer
            answers.append(answer)
        return answers


@contextlib.contextmanager
def crew(
    url: str,
    system: str,
    size: int,
    batch: int,
    *,
    threads: int = 1,
    prepared: bool = True,
    rounds: int = 3,
) -> Iterator[Crew]:
    """Workers that have made every call ``rounds`` times, so that plans and caches are there."""
    made = Crew(url, system, size, threads, prepared)
    try:
        made.warmed = sum(w.tasks for w in made.run(rounds * size * batch, batch)) // 3
        yield made
    finally:
        made.close()


def elapsed(work: list[Work]) -> float:
    """Seconds from the first call of any worker to the last completion of any."""
    return max(w.ended for w in work) - min(w.began for w in work)


def _share(count: int, parts: int) -> list[int]:
    return [count // parts + (n < count % parts) for n in range(parts)]


# -- in the worker's process ---------------------------------------------------------------------


def _serve(
    url: str,
    system: str,
    names: list[str],
    prepared: bool,
    pipe: Connection,
    done: Synchronized[int],
) -> None:
    try:
        with contextlib.ExitStack() as stack:
            workers = [
                SYSTEMS[system](stack.enter_context(connect(url, prepared=prepared)), name)
                for name in names
            ]
            pool = stack.enter_context(ThreadPoolExecutor(len(names)))
            pipe.send(True)
            while True:
                jobs: list[Job] = pipe.recv()
                pipe.send(list(pool.map(_work, workers, jobs, [done] * len(jobs))))
    except EOFError:  # the benchmark is over, or gone
        return
    except KeyboardInterrupt:
        return
    except Exception as error:
        pipe.send(RuntimeError(f"{names[0]}: {error}"))


def _work(system: System, job: Job, done: Synchronized[int]) -> Work:
    work = Work(began=time.monotonic(), calls={}, seconds={})
    for _ in range(job.starts):
        _timed(work, "start", lambda: system.start(job.batch))
        for _ in range(3):
            _step(system, job.batch, work, done)
    progress, pause = time.monotonic(), _PAUSE_S
    while done.value < job.tasks:
        if _step(system, job.batch, work, done):
            progress, pause = time.monotonic(), _PAUSE_S
        elif time.monotonic() - progress > _STUCK_S:
            raise RuntimeError(f"no task found, but only {done.value} of {job.tasks} are completed")
        else:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
    work.ended = work.ended or work.began
    return work


def _step(system: System, batch: int, work: Work, done: Synchronized[int]) -> int:
    """Claim and complete once; returns the number of tasks."""
    claimed = _timed(work, "claim", lambda: system.claim(batch))
    if not claimed:
        work.empty_claims += 1
        return 0
    _timed(work, "complete", lambda: system.complete(claimed))
    work.ended = time.monotonic()
    work.tasks += len(claimed)
    with done.get_lock():
        done.value += len(claimed)
    return len(claimed)


def _timed(work: Work, kind: str, call: Any) -> Any:
    assert work.calls is not None
    assert work.seconds is not None
    began = time.monotonic()
    while True:
        try:
            answer = call()
            break
        except (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable):
            work.repeats += 1
    work.calls[kind] = work.calls.get(kind, 0) + 1
    work.seconds[kind] = work.seconds.get(kind, 0.0) + time.monotonic() - began
    return answer

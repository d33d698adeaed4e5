"""One run of one engine in a database of its own: instances per second, transactions, rows."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks.count import Cost, Monitor
from benchmarks.peers.facts import Peer
from benchmarks.runner import runner_process
from benchmarks.server import BenchServer
from benchmarks.systems import Engine, connect
from benchmarks.workers import crew, elapsed

CHECKOUT = Path(__file__).resolve().parents[2]
_WARM = 200
_LOOK_S = 0.02
_READY_S = 60.0
_LIVE = "select count(*) from bpm_core.workflow_instance w where w.ended_at is null"
_ENDED = "select count(*) from bpm_core.workflow_instance w where w.ended_at is not null"


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it."""

    processes: int
    instances: int
    seconds: float
    rate: float
    cost: Cost


class Stuck(Exception):
    """It did not come to an end."""


def run_peer(
    peer: Peer, python: Path, server: BenchServer, url: str, processes: int, seconds: float
) -> Run:
    """A warm-up that tells how many instances take about ``seconds``, then those."""
    with _programs(peer, python, server, url) as launch:
        launch("prepare", wait=True)
        monitor = Monitor(url)
        workers = [launch("work", str(processes)) for _ in range(processes)]
        feeders = workers if peer.itself else [launch("feed")]
        programs = {*workers, *feeders}
        for program in programs:
            program.await_ready()

        def start(count: int) -> None:
            for number, feeder in enumerate(feeders):
                feeder.order(count // len(feeders) + (number < count % len(feeders)))

        def stop() -> None:
            for program in programs:
                program.stop()

        return _measure(
            url, monitor, peer.done, start, seconds, processes,
            stop, lambda: all(p.alive() for p in programs),
        )  # fmt: skip


def run_runner(url: str, processes: int, seconds: float) -> Run:
    """Ours, through ``pgbpm run``."""
    monitor = Monitor(url)
    with contextlib.ExitStack() as stack, connect(url) as feeder:
        runners = [stack.enter_context(runner_process(url)) for _ in range(processes)]
        engine = Engine(feeder, "feeder")

        def start(count: int) -> None:
            for first in range(0, count, 100):
                engine.start(min(100, count - first))

        def stop() -> None:
            stack.close()
            feeder.close()

        return _measure(
            url, monitor, _ENDED, start, seconds, processes, stop,
            lambda: all(r.poll() is None for r in runners),
        )  # fmt: skip


def run_set(url: str, workers: int, batch: int, seconds: float) -> Run:
    """Ours, called in sets by worker processes."""
    monitor = Monitor(url)
    with crew(url, "engine", workers, batch) as hands:
        rate = workers * batch / elapsed(hands.run(workers * batch, batch))
        monitor.checkpoint()
        instances = _sized(rate, seconds)
        done = monitor.value(_ENDED)
        spent = elapsed(hands.run(instances, batch))
    instances = monitor.value(_ENDED) - done
    return Run(workers, instances, spent, instances / spent, monitor.cost(done + instances))


def _measure(
    url: str,
    monitor: Monitor,
    done: str,
    start: Callable[[int], None],
    seconds: float,
    processes: int,
    stop: Callable[[], None],
    alive: Callable[[], bool],
) -> Run:
    def until(count: int, patience: float) -> float:
        began = time.monotonic()
        while monitor.value(done) < count:
            if not alive():
                raise Stuck("a process ended")
            if time.monotonic() - began > patience:
                raise Stuck(f"{monitor.value(done)} of {count} instances ended in {patience:g} s")
            time.sleep(_LOOK_S)
        return time.monotonic()

    start(_WARM)
    until(_WARM, 60)
    began = time.monotonic()
    start(_WARM)
    rate = _WARM / (until(2 * _WARM, 60) - began)
    monitor.checkpoint()
    instances = _sized(rate, seconds)
    began = time.monotonic()
    start(instances)
    spent = until(2 * _WARM + instances, 60 + 6 * seconds) - began
    stop()
    cost = monitor.cost(2 * _WARM + instances)
    return Run(processes, instances, spent, instances / spent, cost)


def _sized(rate: float, seconds: float) -> int:
    return min(max(int(rate * seconds) // 100 * 100, 200), 40_000)


# -- programs of the peers -----------------------------------------------------------------------


class Program:
    """One process of a peer."""

    def __init__(self, command: list[str], said: IO[bytes], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, cwd=CHECKOUT, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=said, text=True,
        )  # fmt: skip

    def await_ready(self) -> None:
        """Wait for its first line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != "ready":
            raise Stuck(f"it said {line!r} instead of ready")

    def order(self, count: int) -> None:
        """Let it start instances."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Until it has ended well."""
        _, _ = self._process.communicate(timeout=_READY_S)
        if self._process.returncode:
            raise Stuck(f"it ended with code {self._process.returncode}")

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def _programs(
    peer: Peer, python: Path, server: BenchServer, url: str
) -> Iterator[Callable[..., Program]]:
    """Starts programs of a peer; what they complain of is shown if the block fails."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    if server.binaries is not None:  # absurdctl calls psql
        environment["PATH"] = f"{server.binaries.bin_dir}{os.pathsep}{environment['PATH']}"
    started: list[Program] = []
    with tempfile.TemporaryFile() as said:

        def launch(command: str, *arguments: str, wait: bool = False) -> Program:
            module = f"benchmarks.peers.apps.{peer.program}"
            program = Program(
                [str(python), "-m", module, command, url, *arguments], said, environment
            )
            started.append(program)
            if wait:
                program.wait()
            return program

        try:
            yield launch
        except BaseException:
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace")[-3000:])
            raise
        finally:
            for program in started:
                program.stop()

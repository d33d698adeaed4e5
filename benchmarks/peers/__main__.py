"""``python -m benchmarks.peers``: ours and the peers in turn, ``build/bench/peers.json``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.context import median, spread
from benchmarks.guard import EXIT_LOADED, Guard, OtherLoad
from benchmarks.peers import page, venv
from benchmarks.peers.facts import OURS_RUNNER, OURS_SET, PEERS, Peer
from benchmarks.peers.runs import Run, Stuck, run_peer, run_runner, run_set
from benchmarks.server import BenchServer, database, install, running_server
from pgbpm.devtools import scratch

CHECKOUT = Path(__file__).resolve().parents[2]
OUTPUT = CHECKOUT / "build" / "bench" / "peers.json"
PAGE = CHECKOUT / "docs" / "performance.md"
NAMES = [OURS_SET, OURS_RUNNER, *(peer.name for peer in PEERS)]
Take = Callable[[int, float], Run]
"""Processes and seconds → a run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 3 when the machine was not ours alone (nothing is reported)."""
    options = _options(arguments)
    began = time.monotonic()
    peers = [p for p in PEERS if not options.only or p.name in options.only]
    python = venv.python()
    try:
        with running_server(options.server_url) as server:
            guard = Guard(server, options.force)
            guard.wait_quiet()
            loads: dict[str, float] = {}
            with guard.watching("peers", loads):
                engines = _measure(server, python, peers, options)
            result = {
                "engines": engines,
                "quick": options.quick,
                "disturbed": guard.disturbed,
                "foreign_cores": loads,
                "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": machine.facts(server.data_dir),
                "settings": server.settings(),
                "versions": _versions(python),
                "seconds": round(time.monotonic() - began, 1),
            }
    except OtherLoad as load:
        print(f"\nNot reported: {load}", file=sys.stderr)
        return EXIT_LOADED
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(page.text(result))
    print(f"written: {options.out} ({result['seconds']:.0f} s in all)")
    if options.docs:
        PAGE.write_text(page.put(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
        print(f"written: {PAGE}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=[p.name for p in PEERS], help="only this peer (repeat)"
    )
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    parser.add_argument("--force", action="store_true", help="report even if others load (marked)")
    parser.add_argument("--out", type=Path, default=OUTPUT, help="where peers.json goes")
    parser.add_argument("--server-url", help="a running server instead of one of our own")
    parser.add_argument("--docs", action="store_true", help="write docs/performance.md, too")
    options = parser.parse_args(arguments)
    if options.docs and (options.quick or options.server_url or options.only):
        parser.error("--docs is for whole runs on a server of our own")
    return options


def _measure(
    server: BenchServer, python: Path, peers: list[Peer], options: argparse.Namespace
) -> dict[str, Any]:
    """First each engine with each number of processes, then the best ones in turn."""
    probe_s, seconds, rounds = (0.5, 0.5, 1) if options.quick else (2.5, 7.0, 2)
    with scratch.scratch_database(server.url) as template:
        install(template)
        takes = _takes(server, scratch.database_name(template), python, peers)
        found = {name: _Engine(name, take, sizes) for name, (take, sizes) in takes.items()}
        for engine in found.values():
            engine.probe(probe_s, options.quick)
        for _ in range(rounds):
            for engine in found.values():
                engine.run(seconds)
    return {name: engine.result() for name, engine in found.items()}


def _takes(
    server: BenchServer, template: str, python: Path, peers: list[Peer]
) -> dict[str, tuple[Take, tuple[int, ...]]]:
    def ours_set(workers: int, seconds: float) -> Run:
        with database(server.url, template) as url:
            return run_set(url, workers, 100, seconds)

    def ours_runner(processes: int, seconds: float) -> Run:
        with database(server.url, template) as url:
            return run_runner(url, processes, seconds)

    def theirs(peer: Peer) -> Take:
        def take(processes: int, seconds: float) -> Run:
            with scratch.scratch_database(server.url) as url:
                return run_peer(peer, python, server, url, processes, seconds)

        return take

    return {
        OURS_SET: (ours_set, (4,)),
        OURS_RUNNER: (ours_runner, (2,)),
        **{peer.name: (theirs(peer), peer.processes) for peer in peers},
    }


class _Engine:
    """One engine over the whole measurement."""

    def __init__(self, name: str, take: Take, sizes: tuple[int, ...]) -> None:
        self._name, self._take, self._sizes = name, take, sizes
        self._best: int | None = sizes[0]
        self._probes: list[Run] = []
        self._runs: list[Run] = []
        self._failed: str | None = None

    def probe(self, seconds: float, quick: bool) -> None:
        """Which number of processes is best."""
        if len(self._sizes) == 1:
            return
        for processes in self._sizes[:1] if quick else self._sizes:
            run = self._taken(processes, seconds)
            if run is not None:
                self._probes.append(run)
        best = max(self._probes, key=lambda run: run.rate, default=None)
        self._best = best.processes if best else None

    def run(self, seconds: float) -> None:
        """One run that counts."""
        if self._best is not None:
            run = self._taken(self._best, seconds)
            if run is not None:
                self._runs.append(run)

    def _taken(self, processes: int, seconds: float) -> Run | None:
        try:
            run = self._take(processes, seconds)
        except (Stuck, OSError) as fault:
            self._failed = str(fault)
            print(f"  {self._name}, {processes} processes: {fault}", flush=True)
            return None
        print(f"  {self._name}, {processes} processes: {run.rate:,.0f} instances/s", flush=True)
        return run

    def result(self) -> dict[str, Any]:
        """For ``peers.json``."""
        if not self._runs:
            return {"failed": self._failed}
        rates = [run.rate for run in self._runs]
        last = self._runs[-1]
        return {
            "instances_per_s": median(rates),
            "spread": spread(rates),
            "processes": last.processes,
            "transactions_per_instance": last.cost.transactions,
            "writing_transactions_per_instance": last.cost.writing,
            "rows_per_instance": last.cost.rows,
            "runs": [asdict(run) for run in self._runs],
            "probes": [asdict(run) for run in self._probes],
        }


def _versions(python: Path) -> dict[str, str]:
    known = venv.versions(python)
    return {peer.name: known.get(peer.package, "?") for peer in PEERS}


if __name__ == "__main__":
    sys.exit(main())

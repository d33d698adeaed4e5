"""``python -m benchmarks``: measure, print a table, write ``build/bench/results.json``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import audit, machine, pictures, report
from benchmarks.branches import measure_branches
from benchmarks.context import QUICK, Context, Outcome, Sizes
from benchmarks.crowd import measure_crowd
from benchmarks.curves import measure_curves
from benchmarks.delivery import measure_delivery
from benchmarks.flatness import measure_held, measure_million
from benchmarks.guard import EXIT_LOADED, Guard, OtherLoad
from benchmarks.held import measure_held_all
from benchmarks.intake import measure_intake
from benchmarks.rows import measure_rows
from benchmarks.runner import measure_runner
from benchmarks.server import BenchServer, install, running_server
from benchmarks.throughput import measure_set, measure_single
from benchmarks.wakeup import measure_wakeup
from pgbpm.devtools import scratch

CHECKOUT = Path(__file__).resolve().parents[1]
OUTPUT = CHECKOUT / "build" / "bench" / "results.json"
PAGE = CHECKOUT / "docs" / "performance.md"
BENCHMARKS: dict[str, Callable[[Context], Outcome]] = {
    "rows": measure_rows,
    "set": measure_set,
    "single": measure_single,
    "curves": measure_curves,
    "crowd": measure_crowd,
    "runner": measure_runner,
    "wakeup": measure_wakeup,
    "delivery": measure_delivery,
    "intake": measure_intake,
    "flat": measure_million,
    "held": measure_held,
    "held_all": measure_held_all,
    "branches": measure_branches,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 3 when the machine was not ours alone (nothing is reported)."""
    options = _options(arguments)
    began = time.monotonic()
    chosen = {name: BENCHMARKS[name] for name in options.only or BENCHMARKS}
    sizes = QUICK if options.quick else Sizes()
    print(f"benchmarks: {', '.join(chosen)}{' (quick)' if options.quick else ''}", flush=True)
    try:
        with running_server(options.server_url) as server:
            guard = Guard(server, options.force)
            guard.wait_quiet()
            outcomes, loads = _measure(server, sizes, chosen, guard, options.sql)
            settings = server.settings()
            facts = machine.facts(server.data_dir)
    except OtherLoad as load:
        print(f"\nNot reported: {load}", file=sys.stderr)
        print("Stop what else runs here, or measure with --force (marked).", file=sys.stderr)
        return EXIT_LOADED
    result = {
        **{key: value for outcome in outcomes.values() for key, value in outcome.values.items()},
        "quick": options.quick,
        "forced": options.force,
        "disturbed": guard.disturbed,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - began, 1),
        "machine": facts,
        "settings": settings,
        "sizes": asdict(sizes),
        "foreign_cores": loads,
        "details": {name: outcome.detail for name, outcome in outcomes.items()},
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(report.table(result))
    print(f"written: {options.out}")
    written = json.loads(options.out.read_text(encoding="utf-8"))
    result["pictures"] = [p.stem for p in pictures.draw(written["details"], options.out.parent)]
    if options.docs:
        pictures.draw(written["details"], PAGE.parent / "pictures")
        PAGE.write_text(report.page(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
        print(f"written: {PAGE}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=list(BENCHMARKS), help="only this one (repeat)"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: does it work at all?")
    parser.add_argument(
        "--force", action="store_true", help="report even if others load the machine (marked)"
    )
    parser.add_argument("--out", type=Path, default=OUTPUT, help="where results.json goes")
    parser.add_argument(
        "--server-url", help="a running server instead of a durable one of our own (superuser)"
    )
    parser.add_argument(
        "--docs", action="store_true", help="write the figures into docs/performance.md, too"
    )
    parser.add_argument("--sql", type=Path, help="another tree sql/ to measure")
    options = parser.parse_args(arguments)
    if options.docs and (options.quick or options.server_url):
        parser.error("--docs is for whole runs on a server of our own")
    return options


def _measure(
    server: BenchServer,
    sizes: Sizes,
    chosen: dict[str, Callable[[Context], Outcome]],
    guard: Guard,
    sql_root: Path | None,
) -> tuple[dict[str, Outcome], dict[str, float]]:
    outcomes: dict[str, Outcome] = {}
    loads: dict[str, float] = {}
    with scratch.scratch_database(server.url) as template:
        install(template, sql_root)
        context = Context(server, scratch.database_name(template), sizes, _say)
        for name, measure in chosen.items():
            _say(f"\n{name}: {(measure.__doc__ or '').splitlines()[0]}")
            began = time.monotonic()
            with guard.watching(name, loads), _memory(server) as memory, audit.asked() as found:
                outcomes[name] = measure(context)
            outcomes[name].detail["audit"] = found.told()
            outcomes[name].detail["seconds"] = round(time.monotonic() - began, 1)
            if memory is not None:
                outcomes[name].detail["server_peak_mb"] = round(memory.peak_mb)
    return outcomes, loads


@contextlib.contextmanager
def _memory(server: BenchServer) -> Iterator[machine.MemoryWatch | None]:
    if server.pid is None or not machine.can_watch():
        yield None
        return
    with machine.MemoryWatch(server.pid) as watch:
        yield watch


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())

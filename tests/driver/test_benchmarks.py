"""The benchmarks measure: a small run gives every figure, and a worse engine gives worse ones."""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from benchmarks import audit, history, machine, report
from benchmarks.__main__ import main
from benchmarks.branches import measure_branches
from benchmarks.context import QUICK, Context, Outcome
from benchmarks.crowd import measure_crowd
from benchmarks.flatness import measure_held, measure_million
from benchmarks.guard import EXIT_LOADED
from benchmarks.held import measure_held_all
from benchmarks.pooler import missing
from benchmarks.rows import measure_rows
from benchmarks.server import BenchServer, install
from benchmarks.throughput import fair_ratios, measure_set
from benchmarks.turns import Turns
from tests.support.database import TestDatabase

from pgbpm.devtools import scratch

CHECKOUT = Path(__file__).resolve().parents[2]
Measure = Callable[..., Outcome]


@pytest.fixture(scope="module")
def quick(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a whole small run writes."""
    out = tmp_path_factory.mktemp("bench") / "results.json"
    assert main(["--quick", "--force", "--server-url", server_url, "--out", str(out)]) == 0
    return dict(json.loads(out.read_text()))


@pytest.fixture
def measure(server_url: str) -> Iterator[Measure]:
    """Runs one benchmark on an engine that was changed by some statements."""
    with scratch.scratch_database(server_url) as template:
        install(template)

        def run(benchmark: Callable[[Context], Outcome], *changes: str) -> Outcome:
            with psycopg.connect(template, autocommit=True) as conn:
                for change in changes:
                    conn.execute(change)
            name = scratch.database_name(template)
            sizes = replace(QUICK, flat_rounds=3)
            return benchmark(Context(BenchServer(server_url), name, sizes, lambda _: None))

        yield run


def slowed(condition: str, seconds: float = 0.02) -> tuple[str, str]:
    """Every update of tasks takes longer while the condition holds."""
    return (
        "create function public.slow() returns trigger language plpgsql as $$ begin"
        f" if {condition} then perform pg_sleep({seconds}); end if; return null; end $$",
        "create trigger slow after update on bpm_core.task_instance"
        " for each statement execute function public.slow()",
    )


MANY_TASKS = "exists (select from bpm_core.task_instance offset 700)"


# -- the figures ---------------------------------------------------------------------------------


def test_a_run_gives_every_figure(quick: dict[str, Any]) -> None:
    unmeasured = {"workers_100_ratio"} if missing() else set()
    for key in report.WANTED.keys() - unmeasured:
        assert quick[key] > 0, key
    assert quick["quick"]
    assert quick["forced"]
    assert quick["settings"]["synchronous_commit"] == "on"
    assert quick["machine"]["cores"] >= 1
    assert quick["details"]["runner"]["runner_peak_mb"] > 10
    for name, detail in quick["details"].items():
        assert detail["audit"].get("instances", 0) > 0 or "missing" in detail, name


def test_commits_and_rows_are_counted(quick: dict[str, Any]) -> None:
    details = quick["details"]
    for name in ("set", "single", "runner"):
        assert details[name]["rows_per_unit"] == details["rows"]["writes_per_instance"], name
    assert details["single"]["transactions_per_unit"] == pytest.approx(7, abs=1.5)
    assert details["set"]["transactions_per_unit"] < 1.5
    assert details["intake"]["transactions_per_unit"] < 0.2
    (line,) = [row for row in report.table(quick).splitlines() if row.startswith("calls of one")]
    rows = details["rows"]["writes_per_instance"]
    assert re.search(rf" \d\.\d\d +{rows:.1f} ", line)


def test_without_a_pooler_nothing_is_measured_through_one(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.crowd.missing", lambda: "there is none (apt-get install it)")
    outcome = measure(measure_crowd)
    assert not outcome.values
    assert "apt-get" in outcome.detail["missing"]


def test_a_script_that_fell_behind_does_not_flatter_the_engine() -> None:
    assert fair_ratios([300, 310, 330], [600, 200, 550]) == [0.5, 0.6]
    assert fair_ratios([300, 310], [600, 400]) == [0.5, 310 / 400]


def test_figures_are_medians_of_what_was_measured(quick: dict[str, Any]) -> None:
    details = quick["details"]
    runs = details["set"]["runs"]
    rates = [r["instances"] / r["seconds"] for r in runs if r["system"] == "engine"]
    assert quick["instances_per_s_set"] == pytest.approx(statistics.median(rates))
    assert quick["ratio_to_bare"] == statistics.median(details["set"]["ratios"])
    assert quick["instances_per_s_runner"] == statistics.median(details["runner"]["samples"])
    flat = details["flat"]
    assert quick["flat_1m"] == flat[f"ratio_{flat['worst_call']}"] == worst(flat)
    claims = flat["samples"][f"claim_{QUICK.batch}"]
    assert flat[f"ratio_claim_{QUICK.batch}"] == statistics.median(claims)
    assert flat["queue_pairs"]["tick_idle"] == QUICK.flat_queue_rounds * QUICK.flat_idle_calls
    assert set(flat["queue_pairs"]) == set(flat["queues_ms"]["fresh"])
    assert {f"ratio_{name}" for name in flat["queue_pairs"]} < flat.keys()
    assert quick["flat_held_snapshot_all"] == worst(details["held_all"])
    assert len(details["held_all"]["points"]) == QUICK.held_all_points + 1
    assert details["held_all"]["points"][-1]["churned"] >= QUICK.held_all_tasks
    assert quick["flat_held_snapshot"] == statistics.median(details["held"]["samples"])
    (held,) = details["held"]["runs"]
    assert held["fresh"] == held["steps_per_s"][0]
    steps = held["steps_per_s"][-(len(held["steps_per_s"]) // 3) :]
    assert held["last"] == pytest.approx(statistics.harmonic_mean(steps))  # rounds of one size
    assert quick["row_writes_per_step"] == sum(details["rows"]["tables_per_step"].values())


def worst(detail: dict[str, Any]) -> float:
    """The least of the ratios of all calls."""
    ratios = [value for key, value in detail.items() if key.startswith("ratio_")]
    assert len(ratios) >= 20
    return float(min(ratios))


def test_the_bare_script_writes_as_many_rows(quick: dict[str, Any]) -> None:
    phases = quick["details"]["rows"]["phases"]
    assert phases["bare"] == phases["engine"]


def test_an_ordinary_step_writes_at_most_eight_rows(quick: dict[str, Any]) -> None:
    assert quick["row_writes_per_step"] <= 8


def test_the_page_lists_the_rows_of_a_step(quick: dict[str, Any]) -> None:
    page = (CHECKOUT / "docs/performance.md").read_text()
    section = page.partition("## Row writes of one step")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?:claim|complete) \| `(\w+)` \| (\w+): ", section, re.M)
    written = Counter(f"{table} {operation}" for table, operation in rows)
    assert written == quick["details"]["rows"]["tables_per_step"]


def test_the_page_takes_the_figures(quick: dict[str, Any]) -> None:
    page = (CHECKOUT / "docs/performance.md").read_text()
    quick["machine"].setdefault("data_on", "ext4 on /dev/x")
    new = report.page(page, {**quick, "instances_per_s_set": 12345.0})
    assert "**12,345**" in new
    assert new.partition("## What is measured")[2] == page.partition("## What is measured")[2]
    assert report.page(new, quick) == report.page(page, quick)


def test_the_table_marks_what_is_missed(quick: dict[str, Any]) -> None:
    text = report.table({**quick, "instances_per_s_set": 10.0, "flat_1m": 0.99})
    (missed,) = [line for line in text.splitlines() if line.startswith("instances/s, set-based")]
    assert "crowd: not measured: no pooler" in report.table(
        {**quick, "details": {**quick["details"], "crowd": {"missing": "no pooler"}}}
    )
    (met,) = [line for line in text.splitlines() if line.startswith("the worst call with")]
    assert missed.endswith("MISSED")
    assert met.endswith("ok")
    assert "QUICK" in text


# -- a worse engine ------------------------------------------------------------------------------


def test_one_more_row_is_counted(measure: Measure) -> None:
    before = measure(measure_rows)
    after = measure(
        measure_rows,
        "create table bpm_core.extra (n integer)",
        "create function public.more() returns trigger language plpgsql security definer as"
        " $$ begin insert into bpm_core.extra values (1); return new; end $$",
        "create trigger more before insert on bpm_core.result"
        " for each row execute function public.more()",
    )
    assert after.values["row_writes_per_step"] == before.values["row_writes_per_step"] + 1
    assert after.detail["tables_per_step"]["extra insert"] == 1


def test_a_slow_engine_shows(measure: Measure) -> None:
    before = measure(measure_set)
    after = measure(measure_set, *slowed("true", 0.1))  # much, for a machine that others use
    for key in ("instances_per_s_set", "ratio_to_bare"):
        assert after.values[key] < 0.8 * before.values[key], key


def test_an_engine_slow_with_many_tasks_shows(measure: Measure) -> None:
    assert measure(measure_million, *slowed(MANY_TASKS)).values["flat_1m"] < 0.6


def test_a_tick_slow_with_a_past_shows(measure: Measure) -> None:
    many = "exists (select from bpm_core.process_instance offset 800)"  # what was filled in
    after = measure(
        measure_million,
        "alter function bpm_core.tick_leases rename to tick_leases_quick",
        "create function bpm_core.tick_leases(p_tenant_id text, p_limit integer,"
        " p_position bpm_core.pick_position, p_now timestamptz) returns bpm_core.tick_result"
        f" language plpgsql as $$ begin if {many} then perform pg_catalog.pg_sleep(0.02); end if;"
        " return bpm_core.tick_leases_quick(p_tenant_id, p_limit, p_position, p_now); end $$",
    )
    assert after.detail["ratio_tick_idle"] < 0.6


def test_an_engine_that_breaks_its_rules_is_not_measured(measure: Measure) -> None:
    with audit.asked() as found, pytest.raises(audit.Broken, match="I-"):
        measure(
            measure_set,
            "create function public.forget() returns trigger language plpgsql security definer as"
            " $$ begin update bpm_core.token set node_id = 'start'"
            " where workflow_instance_id = new.id and new.ended_at is not null;"
            " return null; end $$",
            "create constraint trigger forget after update on bpm_core.workflow_instance"
            " deferrable initially deferred for each row execute function public.forget()",
        )
    assert "skipped" in found.told()


def test_an_engine_that_tires_shows(measure: Measure) -> None:
    assert measure(measure_held, *slowed(MANY_TASKS)).values["flat_held_snapshot"] < 0.8


def test_a_call_that_tires_under_a_held_snapshot_shows(measure: Measure) -> None:
    after = measure(measure_held_all, *slowed(MANY_TASKS))
    assert after.values["flat_held_snapshot_all"] < 0.8


def test_branches_that_grow_dearer_show(measure: Measure) -> None:
    after = measure(
        measure_branches, *slowed("exists (select from bpm_core.task_instance offset 130)", 0.1)
    )
    assert after.values["branches_linear"] > 1.5


# -- the rest ------------------------------------------------------------------------------------


def told(calls: list[str], turns: Turns, name: str, number: int, count: int) -> None:
    """Makes calls that are written down."""

    @contextlib.contextmanager
    def timed(call: str) -> Iterator[None]:
        yield
        calls.append(f"{name}{call}")

    mine = turns.timed(number, timed)
    for call in range(count):
        with mine(str(call)):
            pass


def test_sessions_make_their_calls_in_turn() -> None:
    calls: list[str] = []
    turns = Turns(2)
    work = [partial(told, calls, turns, name, n, 3 - n) for n, name in enumerate("ab")]
    turns.run(work)
    assert calls == ["a0", "b0", "a1", "b1", "a2"]
    calls.clear()
    turns.run(work, 1)
    assert calls == ["b0", "a0", "b1", "a1", "a2"]


def test_a_session_that_fails_ends_the_others() -> None:
    calls: list[str] = []
    turns = Turns(2)

    def fail() -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        turns.run([partial(told, calls, turns, "a", 0, 3), fail])
    assert calls == ["a0"]
    turns.run([partial(told, calls, turns, "a", 0, 2), partial(told, calls, turns, "b", 1, 2)], 1)
    assert calls == ["a0", "b0", "a0", "b1", "a1"]


def test_a_past_in_bulk_is_consistent(database: TestDatabase) -> None:
    with database.connect() as conn:
        conn.execute(
            "select * from bpm.deploy_bpmn(%s)", [(CHECKOUT / "benchmarks/line.bpmn").read_text()]
        )
    filled = history.fill(database.url, 20)
    assert filled["tasks"] == 60
    counts = database.rows(
        "select (select count(*) from bpm_core.task_instance where state = 'Completed') as tasks,"
        " (select count(*) from bpm_core.process_instance where status = 'Completed') as processes,"
        " (select count(*) from bpm_core.history_event) as events"
    )
    assert counts == [{"tasks": 60, "processes": 20, "events": 20 * 6}]
    # every invariant is looked at by the audit after the test


def test_a_loaded_machine_is_refused(server_url: str, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "benchmarks", "--quick", "--only", "rows"),
        *("--server-url", server_url, "--out", str(tmp_path / "results.json")),
    ]
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        refused = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
        assert refused.returncode == EXIT_LOADED
        assert "others took" in refused.stderr
        assert str(busy.pid) in refused.stderr
        assert "--force" in refused.stderr
        assert not (tmp_path / "results.json").exists()

        forced = subprocess.run([*command, "--force"], cwd=CHECKOUT, capture_output=True, text=True)
        assert forced.returncode == 0, forced.stderr
        assert "FORCED" in forced.stdout
        assert json.loads((tmp_path / "results.json").read_text())["disturbed"]
    finally:
        busy.kill()
        busy.wait()


def test_our_own_load_is_not_foreign() -> None:
    with_us, without_us = machine.Span([]), machine.Span([os.getpid()])
    before = os.times()
    subprocess.run([sys.executable, "-c", "sum(range(50_000_000))"], check=True)
    after = os.times()
    seen, left = with_us.foreign(), without_us.foreign()
    spent = after.children_user - before.children_user
    assert seen.cores - left.cores > 0.5 * spent / (after.elapsed - before.elapsed)


def test_memory_counts_what_is_shared_once() -> None:
    with machine.MemoryWatch(os.getpid()) as watch:
        held = bytearray(50_000_000)
        assert machine.resident_mb([os.getpid()]) > 50
        del held
    assert watch.peak_mb > 10

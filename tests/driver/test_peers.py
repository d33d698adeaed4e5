"""The comparison with others: what is counted, and what the page says of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from benchmarks.count import Cost, Monitor
from benchmarks.peers import page
from benchmarks.peers.facts import OURS_RUNNER, OURS_SET, PEERS
from tests.support.database import TestDatabase

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "docs" / "performance.md").read_text()


def test_a_monitor_counts_what_others_do_and_not_itself(database: TestDatabase) -> None:
    with database.connect() as conn:
        conn.execute("create table public.sheep (n integer)")
    monitor = Monitor(database.url)
    for _ in range(5):
        assert monitor.value("select count(*) from public.sheep") >= 0
    with psycopg.connect(database.url, autocommit=True) as conn:
        conn.execute("insert into public.sheep select generate_series(1, 10)")
        conn.execute("update public.sheep set n = 0 where n <= 4")
        conn.execute("delete from public.sheep where n = 0")
        conn.execute("select count(*) from public.sheep")
    cost = monitor.cost(2)
    assert cost.rows == (10 + 4 + 4) / 2
    # autovacuum may look in, and others work on the server meanwhile
    assert 2 <= cost.transactions <= 4
    assert cost.writing >= 1.5


def result(**engines: dict[str, Any]) -> dict[str, Any]:
    return {
        "engines": engines,
        "versions": {"absurd": "0.5.1"},
        "quick": False,
        "disturbed": False,
        "foreign_cores": {},
        "measured_at": "2026-01-01T00:00:00+00:00",
        "machine": {
            "machine": "abacus", "cores": 2, "memory_mb": 1024, "system": "Linux 6",
            "data_on": "ext4 on x",
        },
        "settings": {"server_version": "15.1", "fsync": "on", "synchronous_commit": "on"},
    }  # fmt: skip


def measured(rate: float) -> dict[str, Any]:
    cost = Cost(3.0, 2.0, 33.0)
    return {
        "instances_per_s": rate, "processes": 2, "rows_per_instance": cost.rows,
        "transactions_per_instance": cost.transactions,
        "writing_transactions_per_instance": cost.writing,
    }  # fmt: skip


def test_the_page_takes_the_comparison_and_nothing_else() -> None:
    found = result(
        **{OURS_RUNNER: measured(1000.0), OURS_SET: measured(2000.0)},
        absurd=measured(250.0),
        DBOS={"failed": "no luck"},
    )
    new = page.put(PAGE, found)
    assert "| absurd 0.5.1 | **250** | 4.0 × | 8.0 × | 3.00 | 2.00 | 33.0 | 2 |" in new
    assert "| DBOS | no luck |" in new
    assert page.put(new, None) == page.put(PAGE, None)
    assert new.partition(page.END)[2] == PAGE.partition(page.END)[2]


def test_the_text_names_who_failed() -> None:
    text = page.text(result(absurd=measured(250.0), DBOS={"failed": "no luck"}))
    assert re.search(r"absurd +250 +3\.00 +2\.00 +33\.0 +2", text)
    assert "no result: no luck" in text


def test_the_page_says_of_everybody_what_is_unfair() -> None:
    part = PAGE.partition(page.BEGIN)[2].partition(page.END)[0]
    for name in (OURS_SET, OURS_RUNNER, *(peer.name for peer in PEERS)):
        assert len(re.findall(rf"^\| {re.escape(name)}(?: [\d.]+)? \|", part, re.M)) == 2, name
    for peer in PEERS:
        assert peer.unfair in part


def test_pins_and_programs_of_the_peers() -> None:
    pins = (CHECKOUT / "requirements" / "peers.txt").read_text()
    for peer in PEERS:
        assert re.search(rf"^{peer.package}==", pins, re.M), peer.name
        program = CHECKOUT / "benchmarks" / "peers" / "apps" / f"{peer.program}.py"
        subprocess.run([sys.executable, "-m", "py_compile", program], check=True)

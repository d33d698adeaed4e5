"""``python -m tests.demo``: play it, tell it, end with 0 only if nothing was lost or doubled."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.demo import chaos, verdict
from tests.demo.orders import all_orders
from tests.demo.people import People
from tests.demo.stage import CHECKOUT, LEASE_S, Database, Stage, set_up
from tests.demo.strangers import run_strangers

TYPES = ("reserve-stock", "release-order", "charge-card", "close")


def prepare(stage: Stage) -> None:
    """Settings, the courier's address and profile, the process."""
    db = Database(stage.url)
    db.rows(
        "select bpm.set_setting(p_name => 'engine.approval_required_task_types',"
        """ p_value => '["release-order"]')"""
    )
    db.rows(
        "select bpm.register_destination(p_code => 'courier', p_config => %s::jsonb,"
        " p_resend_allowed => true, p_backoff => '200 milliseconds', p_lease => %s)",
        json.dumps({"url": f"{stage.world_url}/courier"}), f"{LEASE_S} seconds",
    )  # fmt: skip
    for task_type in TYPES:  # more attempts than there are kills and scripted failures
        db.rows(
            "select bpm.publish_task(p_task_type => %s, p_max_attempts => 10,"
            " p_backoff => '200 milliseconds')",
            task_type,
        )
    xml = (CHECKOUT / "tests" / "bpmn" / "order.bpmn").read_text("utf-8")
    row = db.rows("select * from bpm.deploy_bpmn(p_xml => %s)", xml)[0]
    db.close()
    stage.tell(f"order.bpmn deployed as process {row['code']!r}, version {row['version']}")


def play(folder: Path, count: int) -> dict[str, Any]:
    """The whole demo; the report."""
    began = time.monotonic()
    print(f"{count} orders; the runner is killed twice and the server once while they run.\n")
    with set_up(folder, began) as stage:
        status = stage.server.status()
        stage.tell(f"PostgreSQL {status.version} ({status.origin}) started, durable, empty")
        prepare(stage)
        stage.start_runner()
        people = People(stage, all_orders(count))
        people.begin()
        stage.tell("runner started; customers order, an approver decides, a courier picks up")
        stuck = ""
        try:
            chaos.play(stage, count)
        except chaos.Stuck as error:
            stuck = str(error)
        people.end()
        stage.tell(stuck or "all orders have ended")
        code = stage.stop_runner()
        stage.tell(f"runner told to stop (SIGTERM): ended with code {code}")
        report = verdict.judge(stage, people, time.monotonic() - began)
        if stuck:
            report["faults"].insert(0, stuck)
        if code:
            report["faults"].append(f"the runner ended with code {code}")
        verdict.tell(report)
        report["strangers"] = run_strangers(stage)
        if not report["strangers"]["skipped"]:
            done = report["strangers"]["statuses"]
            print(f"{report['strangers']['file']}: deployed and run, {', '.join(done)}")
            if set(done) != {"Completed"}:
                report["faults"].append(f"the strangers' file ended {done}")
    report["seconds"] = round(time.monotonic() - began, 1)
    return report


def main() -> int:
    """Command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--orders", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--folder", type=Path, default=CHECKOUT / "build" / "demo")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    report = play(options.folder, options.orders)
    file = options.folder / "report.json"
    file.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
    verb = "FAILED" if report["faults"] else "done"
    print(f"\n{verb} in {report['seconds']} s; report in {file}, the runner's log beside it")
    return 1 if report["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())

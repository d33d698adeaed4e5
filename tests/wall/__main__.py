"""``python -m tests.wall [--bounded]``: storm the wall; report in build/wall/report.json.

Exit code 1 if anything leaked or an unexpected code came.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pgbpm import migrations
from pgbpm.devtools import scratch
from tests.wall.campaign import Campaign
from tests.wall.world import ATTACKER, STRANGE, VICTIM

CHECKOUT = Path(__file__).resolve().parents[2]
REPORT = CHECKOUT / "build" / "wall" / "report.json"


def run(url: str, *, thorough: bool, swapped: bool = False, tell: Any = print) -> dict[str, Any]:
    """One campaign in an empty database with the schema; the report.

    Raises LookupError when the wall does not know a parameter or a table.
    """
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as conn:
        who = (VICTIM, STRANGE) if swapped else (ATTACKER, VICTIM)
        campaign = Campaign(conn, thorough=thorough, tell=tell, attacker=who[0], victim=who[1])
        try:
            campaign.prepare()
            tell(f"{who[0].name!r} against {who[1].name!r}")
            campaign.storm()
        except psycopg.Error:
            print(json.dumps(campaign.findings.leaks + campaign.findings.unexpected, indent=1))
            raise
        finally:
            campaign.drop_roles()
    found = campaign.findings
    return {
        "functions": len(campaign.functions),
        "views": len(campaign.views),
        "roles": len(campaign.roles),
        "calls": sum(found.counts.values()),
        "series": found.counts,
        "leaks": found.leaks,
        "unexpected_codes": found.unexpected,
    }


def merged(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Reports of several campaigns as one."""
    whole = dict(reports[0])
    for report in reports[1:]:
        whole["calls"] += report["calls"]
        whole["leaks"] += report["leaks"]
        whole["unexpected_codes"] += report["unexpected_codes"]
        whole["series"] = {
            name: whole["series"].get(name, 0) + report["series"].get(name, 0)
            for name in {**whole["series"], **report["series"]}
        }
    return whole


def main() -> int:
    """Both campaigns, on databases of their own."""
    parser = argparse.ArgumentParser(prog="python -m tests.wall")
    parser.add_argument("--bounded", action="store_true", help="as in make test: fewer cases")
    parser.add_argument("--swapped", action="store_true", help="only the second campaign")
    chosen = parser.parse_args()
    bounded = chosen.bounded
    campaigns = (True,) if chosen.swapped else (False,) if bounded else (False, True)
    began = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {line}", flush=True)

    reports = []
    with scratch.scratch_server() as server:
        for swapped in campaigns:
            with scratch.scratch_database(server) as url:
                with psycopg.connect(url, autocommit=True) as conn:
                    migrations.run(conn)
                try:
                    reports.append(run(url, thorough=not bounded, swapped=swapped, tell=tell))
                except LookupError as error:
                    print(error, file=sys.stderr)
                    return 1
    report = merged(reports)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")
    for kind in ("leaks", "unexpected_codes"):
        for found in report[kind][:20]:
            print(f"{kind}: {json.dumps(found, ensure_ascii=False)[:600]}")
    print(
        f"\n{report['functions']} functions and {report['views']} views, {report['roles']} roles:"
        f" {report['calls']} calls, {len(report['leaks'])} leaks,"
        f" {len(report['unexpected_codes'])} unexpected codes; {REPORT.relative_to(CHECKOUT)}"
    )
    return int(bool(report["leaks"] or report["unexpected_codes"]))


if __name__ == "__main__":
    sys.exit(main())

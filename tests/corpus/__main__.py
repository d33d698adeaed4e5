"""``python -m tests.corpus FOLDER``: check, deploy and run every BPMN file of a folder.

Each file gets a scratch database. Every process in it runs with stub handlers over varied inputs.
Exit code 1 if a file met an exception or broke an invariant; refused files are no failure.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from pgbpm.devtools import scratch
from tests.corpus.report import MOST_RUNS, Bounds, FileReport, play_folder, totals
from tests.support import database

CHECKOUT = Path(__file__).resolve().parents[2]
REPORT = CHECKOUT / "build" / "corpus" / "report.json"


def main(arguments: list[str] | None = None) -> int:
    """Command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=CHECKOUT / "tests" / "bpmn")
    parser.add_argument("--runs", type=int, default=MOST_RUNS, help="most runs per process")
    parser.add_argument("--report", type=Path, default=REPORT)
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    began = time.monotonic()
    with scratch.scratch_server() as server_url:
        template = database.make_template(server_url)
        try:
            name = scratch.database_name(template)
            reports = play_folder(
                options.folder, server_url, name, Bounds(runs=options.runs),
                tell=lambda text: print(text, flush=True),
            )  # fmt: skip
        finally:
            scratch.drop_database(server_url, template)
    sums = totals(reports)
    document = {
        "folder": str(options.folder),
        "totals": sums,
        "files": [r.as_json() for r in reports],
    }
    options.report.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    options.report.write_text(text + "\n", "utf-8")
    said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sums.items())
    print(f"\n{said}\n{time.monotonic() - began:.0f} s; {options.report}")
    if not reports:
        print(f"no BPMN file under {options.folder}", file=sys.stderr)
    return exit_code(reports)


def exit_code(reports: list[FileReport]) -> int:
    """0: no exception; 1: some; 2: there was no file."""
    if not reports:
        return 2
    return int(any(report.exception is not None for report in reports))


if __name__ == "__main__":
    sys.exit(main())

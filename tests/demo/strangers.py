"""A file nobody here wrote, deployed and run with stubs for everything it asks of the world."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.demo.stage import CHECKOUT, Database, Stage

FILE = "flowable-chinese-names.bpmn"
_MOST_STEPS = 100


def run_strangers(stage: Stage) -> dict[str, Any]:
    """Deploy and run the file; what came of it, for the report."""
    folder = Path(os.environ.get("PGBPM_CORPUS") or CHECKOUT.parent / "shared" / "corpus")
    file = folder / FILE
    if not file.is_file():
        if "PGBPM_CORPUS" in os.environ or folder.is_dir():
            print(f"{FILE}: skipped, it is not in {folder} (PGBPM_CORPUS names the folder)")
        return {"file": FILE, "skipped": True}
    db = Database(stage.url)
    deployed = db.rows("select * from bpm.deploy_bpmn(p_xml => %s)", file.read_text("utf-8"))
    statuses = [run_with_stubs(db, str(row["code"])) for row in deployed]
    db.close()
    return {"file": FILE, "skipped": False, "processes": len(deployed), "statuses": statuses}


def run_with_stubs(db: Database, code: str) -> str:
    """Start a process and do every task it offers; the status it ends with."""
    key = f"stranger-{code}"
    db.rows("select * from bpm.start_process(p_code => %s, p_business_key => %s)", code, key)
    for _ in range(_MOST_STEPS):
        tasks = db.rows(
            "select t.* from bpm.task t where t.business_key = %s and t.state = 'Ready'", key
        )
        if not tasks:
            break
        for task in tasks:
            name = task["node_name"] or task["node_id"]
            print(f"{FILE}: “{name}” is done by a stub")
            _do(db, task)
        db.rows("select * from bpm.tick()")
    return str(db.value("select i.status from bpm.instance i where i.business_key = %s", key))


def _do(db: Database, task: dict[str, Any]) -> None:
    if task["task_type"] == "bpm:user":
        db.rows("select * from bpm.complete_user_task(p_task_id => %s)", task["task_id"])
        return
    for claimed in db.rows("select * from bpm.claim_tasks('stub', %s, 100)", [task["task_type"]]):
        db.rows(
            "select * from bpm.complete_task(p_task_id => %s, p_fencing_token => %s)",
            claimed["task_id"], claimed["fencing_token"],
        )  # fmt: skip

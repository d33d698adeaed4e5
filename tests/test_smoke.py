"""The short module that runs on every server version: what a new user types, literally."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.database import TestDatabase
from tests.support.pgtap import psql

pytestmark = pytest.mark.smoke

ORDER = """\
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="http://example.org/order">
  <process id="order" isExecutable="true">
    <startEvent id="start"/>
    <sequenceFlow id="f1" sourceRef="start" targetRef="reserve-stock"/>
    <serviceTask id="reserve-stock" name="Reserve stock"/>
    <sequenceFlow id="f2" sourceRef="reserve-stock" targetRef="end"/>
    <endEvent id="end"/>
  </process>
</definitions>
"""

SESSION = """\
\\set xml `cat order.bpmn`
select * from bpm.deploy_bpmn(:'xml');
select * from bpm.start_process('order', '{"amount": 1200}', p_business_key => 'A-1');
select * from bpm.claim_tasks('me', '{reserve-stock}') \\gset
select * from bpm.complete_task(:'task_id', :fencing_token, '{"reserved": true}');
select * from bpm.tick();
table bpm.instance; table bpm.history;
"""


def test_the_session_of_a_new_user(empty_database: str, tmp_path: Path) -> None:
    """``pgbpm bundle | psql -1 mydb`` and what follows in psql."""
    (tmp_path / "order.bpmn").write_text(ORDER, encoding="utf-8")
    bundle = subprocess.run(
        [sys.executable, "-m", "pgbpm", "bundle"], capture_output=True, text=True, check=True
    ).stdout
    command = [psql(), "-X", "-q", "-d", empty_database, "-v", "ON_ERROR_STOP=1"]
    for arguments, script in ((["-1"], bundle), ([], SESSION)):
        done = subprocess.run(
            [*command, *arguments], input=script, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    database = TestDatabase(empty_database)
    instance = database.rows("table bpm.instance")
    assert [row["status"] for row in instance] == ["Completed"]
    variables = database.value("select p.variables from bpm_core.workflow_instance p")
    assert variables == {"reserved": True}
    kinds = [row["kind"] for row in database.rows("select h.kind from bpm.history h")]
    assert "TaskCompleted" in kinds
    database.audit()

"""``pgbpm maintain``: what it removes, what it keeps and why, what it could not do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from tests.races import kit
from tests.support.database import TestDatabase

from pgbpm import cli, config

DAYS = {"BPM__RETENTION__INSTANCE_DAYS": "0", "BPM__RETENTION__PROCESS_DAYS": "kept=,long=30"}


@pytest.fixture
def database(empty_database: str) -> TestDatabase:
    """A database whose settings come from the environment."""
    assert _run(empty_database, "migrate", **DAYS).exit_code == 0
    made = TestDatabase(empty_database)
    made.rows("select bpm.create_tenant('A', 'acme')")
    for tenant in ("", "acme"):
        for code in ("plain", "kept", "gated"):
            body = (
                {"a": kit.service(approval="required")}
                if code == "gated"
                else {"a": "<task {id}/>"}
            )
            made.rows(
                "select from bpm.deploy_bpmn(%s, p_tenant_id => %s)",
                [kit.process(code, "start > a > end", **body), tenant],
            )
    return made


def _run(url: str, *arguments: str, **env: str) -> Any:
    return CliRunner().invoke(cli.root, ["--database-url", url, *arguments], env=env)


def _maintain(database: TestDatabase, *arguments: str) -> dict[tuple[str, str], str]:
    """What was done, without the months that were there: (what, action) -> detail."""
    result = _run(database.url, *arguments, "maintain", "--json", "--limit", "2")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    return {(r["what"], r["action"]): r["detail"] for r in rows if r["action"] != "Present"}


def _start(database: TestDatabase, code: str, times: int = 1, tenant: str = "") -> None:
    database.rows(
        "select from bpm.start_processes(%s, p_tenant_id => %s)",
        [json.dumps([{"code": code}] * times), tenant],
    )


def test_settings_come_from_the_configuration(database: TestDatabase) -> None:
    assert database.rows("select s.name, s.value from bpm_core.setting s order by s.name") == [
        {"name": "retention.instance_days", "value": 0},
        {"name": "retention.process_days", "value": {"kept": None, "long": 30}},
    ]
    given = config.load(environ={"BPM__RETENTION__EVENT_DAYS": "30"}).retention.given()
    assert given == {"retention.event_days": 30}


def test_wrong_days_are_refused(database: TestDatabase) -> None:
    result = _run(database.url, "migrate", BPM__RETENTION__PROCESS_DAYS="plain=soon")
    assert result.exit_code != 0
    assert "retention.process_days takes" in result.stderr


def test_what_has_had_its_time_leaves_in_every_tenant(database: TestDatabase) -> None:
    _start(database, "plain", 5)
    _start(database, "kept", 2)
    _start(database, "plain", 1, "acme")
    assert _maintain(database) == {
        ("instances", "Removed 5"): "",
        ("instances of acme", "Removed 1"): "",
    }
    assert database.value("select count(*) from bpm.instance") == 2
    assert _maintain(database) == {}


def test_one_tenant_alone(database: TestDatabase) -> None:
    _start(database, "plain")
    _start(database, "plain", 1, "acme")
    assert _maintain(database, "--tenant", "acme") == {("instances of acme", "Removed 1"): ""}


def test_what_stays_and_why(database: TestDatabase) -> None:
    _start(database, "gated")
    database.rows(
        "select from bpm.approval a"
        " cross join lateral bpm.decide_approval(a.approval_id, 'Rejected')"
    )
    database.rows("select bpm.run_until_idle()")
    (((what, action), why),) = _maintain(database).items()
    assert (what, action) == ("instances", "Kept 1")
    oldest = database.value("select i.process_instance_id::text from bpm.instance i")
    assert why == f"1: a dead letter is open; the oldest is {oldest}"


def test_a_tenant_that_may_not_be_touched(database: TestDatabase) -> None:
    _start(database, "plain", 1, "acme")
    database.rows("select bpm.suspend_tenant('acme', 'holidays')")
    done = _maintain(database)
    assert done["instances of acme", "Could not"].startswith("BP423: ")

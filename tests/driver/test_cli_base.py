"""The base of the command line: status, doctor, maintain, errors, exit codes, output."""

from __future__ import annotations

import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest
from click.testing import CliRunner, Result
from tests.support.database import TestDatabase

from pgbpm import cli, migrations
from pgbpm.cli import output
from pgbpm.cli.app import App, pass_app
from pgbpm.db import connect


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(url: str, *arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli.root, ["--database-url", url, *arguments], env=env)


def answer(result: Result) -> Any:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return json.loads(result.stdout)


# -- status and doctor ---------------------------------------------------------------------------


def test_status_of_an_empty_database_says_what_is_pending(empty_database: str) -> None:
    result = run(empty_database, "status", "--json")
    assert result.exit_code == 4
    report = answer(result)
    assert report["schema"]["latest"] is None
    assert report["schema"]["pending"] == [m.name for m in migrations.load()]
    assert report["server"]["version"].split(".")[0] in {"15", "16", "17", "18"}
    assert "not installed" in run(empty_database, "status").output


def test_migrate_then_status_and_doctor_are_content(empty_database: str) -> None:
    done = run(empty_database, "migrate", "--json")
    assert done.exit_code == 0
    assert answer(done)["ran"] == [m.name for m in migrations.load()]
    assert answer(run(empty_database, "migrate", "--json"))["ran"] == []
    status = run(empty_database, "status", "--json")
    assert status.exit_code == 0
    assert answer(status)["schema"]["pending"] == []
    doctor = run(empty_database, "doctor", "--json")
    report = answer(doctor)
    assert report["ready"] is True, report["checks"]
    assert doctor.exit_code == 0
    names = {check["name"] for check in report["checks"]}
    assert {"migrations", "interface", "schema"} <= names
    assert run(empty_database, "doctor").output.rstrip().endswith("ready")


def test_check_only_reports(empty_database: str) -> None:
    result = run(empty_database, "migrate", "--check")
    assert result.exit_code == 4
    assert "pending 0001_tables" in result.output
    with psycopg.connect(empty_database) as conn:
        row = conn.execute("select to_regnamespace('bpm_core')").fetchone()
    assert row == (None,)


def test_doctor_of_an_empty_database_is_not_content(empty_database: str) -> None:
    result = run(empty_database, "doctor", "--json")
    assert result.exit_code == 1
    failed = {c["name"] for c in answer(result)["checks"] if not c["ok"] and c["required"]}
    assert {"migrations", "interface", "engine"} <= failed
    assert "NOT ready" in run(empty_database, "doctor").output


def test_the_pool_is_counted_from_outside(database: TestDatabase) -> None:
    with (
        connect(database.url, "run"),
        connect(database.url, "run", autocommit=False) as holder,
        connect(database.url, "run") as waiter,
    ):
        take = "select pg_advisory_xact_lock(4712)"
        holder.execute(take)
        waiting = threading.Thread(target=waiter.execute, args=(take,))
        waiting.start()
        while not database.value("select count(*) from pg_locks where not granted"):
            pass
        pool = answer(run(database.url, "status", "--json"))["pool"]
        holder.rollback()
        waiting.join()
    assert (pool["active"], pool["idle"], pool["waiting"]) == (0, 2, 1)


def test_engine_settings_reach_the_database(empty_database: str) -> None:
    env = {"BPM__ENGINE__TIMER_BATCH_SIZE": "77"}
    assert run(empty_database, "migrate", env=env).exit_code == 0
    assert TestDatabase(empty_database).rows("select s.name, s.value from bpm_core.setting s") == [
        {"name": "engine.timer_batch_size", "value": 77}
    ]


def test_maintain_keeps_partitions(empty_database: str) -> None:
    run(empty_database, "migrate")
    result = run(empty_database, "maintain", "--json")
    assert result.exit_code == 0, result.output
    rows = answer(result)
    assert len(rows) >= 24
    assert {row["action"] for row in rows} == {"Present"}
    said = run(empty_database, "maintain").output
    assert said == f"nothing to do; {len(rows)} months of history are there\n"


def test_maintain_tells_of_the_months_it_made(empty_database: str) -> None:
    run(empty_database, "migrate")
    with TestDatabase(empty_database).connect() as conn:
        last = conn.execute(
            "select max(c.oid::regclass::text) as name from pg_class c where c.relispartition"
            " and c.relkind = 'r' and c.relname like 'history_event_y%'"
        ).fetchone()
        assert last is not None
        conn.execute(f"drop table {last['name']}")
    lines = run(empty_database, "maintain").output.splitlines()
    assert [line.split() for line in lines[2:]] == [[last["name"].split(".")[1], "Created"]]


def test_maintain_forgets_expired_keys(empty_database: str) -> None:
    run(empty_database, "migrate")
    with TestDatabase(empty_database).connect() as conn:
        conn.execute(
            "insert into bpm_core.idempotency_key"
            " (operation, key, request_hash, response, created_at, expires_at)"
            " select 'broadcast_signal', n.n::text, sha256(''), '{}', now(),"
            "   now() + case when n.n <= 3 then -1 else 1 end * interval '1 day'"
            "  from generate_series(1, 5) n(n)"
        )
    result = run(empty_database, "maintain", "--json")
    assert answer(result)[0] == {
        "what": "idempotency_key",
        "action": "Forgot 3",
        "detail": "",
    }


def test_a_server_started_by_nobody(tmp_path: Path) -> None:
    nowhere = f"postgresql://postgres@/bpm?host={tmp_path}"
    result = run(nowhere, "status")
    assert result.exit_code == 3
    assert "cannot connect" in result.stderr
    assert "hint: check database.url" in result.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("shop", 'missing "=" after "shop"'),
        ("postgresql://localhost/shop?colour=red", "colour"),
        ("postgresql://localhost:54x32/shop", "'54x32' is no port"),
        ("postgresq://ann:secret@localhost/shop", "is no connection string\n"),
    ],
)
def test_a_url_that_is_none(url: str, said: str) -> None:
    result = run(url, "ps")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "secret" not in result.stderr
    assert "postgresql://USER" in result.stderr


def test_a_database_that_is_missing(empty_database: str) -> None:
    result = run(psycopg.conninfo.make_conninfo(empty_database, dbname="not-made"), "ps")
    assert result.exit_code == 3
    assert "hint: createdb not-made" in result.stderr


# -- errors and usage ----------------------------------------------------------------------------


def test_an_engine_error_is_told_with_code_detail_and_hint(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    @pass_app
    def fails(app: App) -> None:
        with app.connect() as conn:
            conn.execute(
                """do $$ begin raise exception 'too bad' using errcode = 'BP409',
                   detail = '{"a": 1}', hint = 'Do better.'; end $$"""
            )

    monkeypatch.setitem(cli.root.commands, "fails", fails)
    result = run(database.url, "fails")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "error BP409: too bad",
        '  detail: {"a": 1}',
        "  hint: Do better.",
    ]


def test_faulty_configuration_ends_with_usage(tmp_path: Path) -> None:
    (tmp_path / "pgbpm.toml").write_text("[databas]\n", encoding="utf-8")
    result = CliRunner().invoke(cli.root, ["status"])
    assert result.exit_code == 2
    result = CliRunner().invoke(cli.root, ["--config", "missing.toml", "status"])
    assert result.exit_code == 2
    assert "missing.toml does not exist" in result.stderr


def test_pending_migrations_refuse_a_start(empty_database: str) -> None:
    result = run(empty_database, "maintain", env={"BPM__DATABASE__MIGRATE_ON_START": "false"})
    assert result.exit_code == 4
    assert "0001_tables" in result.stderr


def test_bundle_needs_no_database() -> None:
    result = CliRunner().invoke(cli.root, ["bundle"])
    assert result.exit_code == 0
    assert result.stdout == migrations.bundle()


# -- output --------------------------------------------------------------------------------------


def test_tables_line_up_also_with_wide_letters() -> None:
    text = output.table([{"name": "订单", "n": 1}, {"name": "abc", "n": None}])
    assert text.splitlines() == ["name  n", "────  ─", "订单  1", "abc   –"]


def test_json_keeps_letters_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit([{"số": Decimal("1.50"), "n": Decimal(7)}], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"số": 1.5, "n": 7}]


def test_nothing_is_said_in_words_or_as_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit([], as_json=False, empty="no instances")
    output.emit([], as_json=True)
    assert capsys.readouterr().out == "no instances\n[]\n"

"""``pgbpm access`` and ``pgbpm tenant``."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg import sql
from tests.support.database import TestDatabase

from pgbpm import migrations
from pgbpm.cli import root


@pytest.fixture
def role(fresh_database: TestDatabase) -> Iterator[str]:
    """A login that only exists for this test."""
    name = f"cli_access_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(fresh_database.url, autocommit=True) as conn:
        conn.execute(sql.SQL("create role {}").format(sql.Identifier(name)))
        yield name
        conn.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def test_tenants_and_who_may_what(
    fresh_database: TestDatabase, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "run", lambda conn, folder=None: [])

    def call(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(root, ["--database-url", fresh_database.url, *arguments])
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    def answer(*arguments: str) -> Any:
        return json.loads(call(*arguments, "--json").stdout)

    assert answer("tenant", "create", "acme", "--name", "Acme")["name"] == "Acme"
    assert [row["tenant_id"] for row in answer("tenant")] == ["", "acme"]
    assert "Acme" in call("tenant").stdout
    assert answer("--tenant", "acme", "access", "grant", role, "worker")["capability"] == "worker"
    assert answer("access", "grant", role, "reader", "--pattern", "ac%")["tenant_pattern"] == "ac%"
    held = {
        (row["capability"], row["tenant_pattern"])
        for row in answer("--tenant", "acme", "access")
        if row["role_name"] == role
    }
    assert held == {("worker", "acme"), ("reader", "ac%")}
    assert role in call("--tenant", "acme", "access").stdout
    assert answer("--tenant", "acme", "access", "revoke", role, "worker")["revoked"] is True
    assert answer("--tenant", "acme", "access", "revoke", role, "worker")["revoked"] is False
    assert "There is no database role" in call("access", "grant", "n-o", "reader", code=1).stderr
    assert answer("tenant", "suspend", "acme", "--reason", "unpaid")["is_new"] is True
    assert answer("tenant")[1]["state"] == "Suspended"
    assert answer("tenant", "resume", "acme")["is_new"] is True
    assert answer("tenant", "resume", "acme")["is_new"] is False
    assert answer("tenant", "weight", "acme", "5", "--reason", "pays")["before"] == 1
    assert [row["weight"] for row in answer("tenant")] == [1, 5]
    assert "5" in call("tenant").stdout
    call("tenant", "weight", "acme", "0", code=2)
    assert answer("tenant", "quota", "acme", "20")["before"] is None
    assert answer("tenant", "quota", "acme", "30")["before"] == 20
    assert answer("--tenant", "acme", "quotas", "set", "pack", "3")["bound"] == 3
    quotas = answer("--tenant", "acme", "quotas")
    assert [(row["task_type"], row["bound"], row["held"]) for row in quotas] == [
        ("", 30, 0),
        ("pack", 3, 0),
    ]
    assert "(all types)" in call("--tenant", "acme", "quotas").stdout
    assert answer("tenant", "quota", "acme", "none")["before"] == 30
    assert answer("--tenant", "acme", "quotas", "set", "pack", "none")["bound"] is None
    assert "no quotas" in call("--tenant", "acme", "quotas").stdout
    call("--tenant", "acme", "quotas", "set", "pack", "many", code=2)
    call("--tenant", "acme", "quotas", "set", "bpm:user", "3", code=1)
    assert "no tenant 'none'" in call("tenant", "suspend", "none", code=1).stderr
    assert "no grants" in call("--tenant", "none", "access").stdout

"""Migrations: once each, whole or not at all, in order, unedited, by one migrator at a time."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.support.pgtap import psql

from pgbpm import config, migrations, schema_diff, source
from pgbpm import db as db_module
from pgbpm.db import open_database
from pgbpm.devtools import scratch
from pgbpm.errors import MigrationError, PendingMigrationsError

Conn = psycopg.Connection[Any]

ONE = "create table bpm_core.first (id int primary key);\ncreate table bpm_core.other (id int);\n"
TWO = "create function bpm.two() returns int language sql as 'select 2';\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, "0001_tables", ONE)
    put(tmp_path, "0002_code", TWO)
    return tmp_path


@pytest.fixture
def db(empty_database: str) -> Iterator[Conn]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        yield conn


def put(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.sql").write_text(text, encoding="utf-8")


def value(conn: Conn, query: str) -> Any:
    row = conn.execute(query).fetchone()
    assert row is not None
    return row[0]


def ledger(conn: Conn) -> list[tuple[int, str]]:
    return conn.execute(
        "select version, name from bpm_core.schema_migrations order by version"
    ).fetchall()


def test_run_applies_all_and_a_second_run_nothing(db: Conn, folder: Path) -> None:
    assert migrations.run(db, folder) == [1, 2]
    assert value(db, "select bpm.two()") == 2
    before = db.execute("select * from bpm_core.schema_migrations").fetchall()
    assert migrations.run(db, folder) == []
    assert db.execute("select * from bpm_core.schema_migrations").fetchall() == before


def test_objects_belong_to_the_owner_role(db: Conn, folder: Path) -> None:
    migrations.run(db, folder)
    owners = db.execute(
        "select distinct c.relowner::regrole::text from pg_class c"
        " where c.relnamespace::regnamespace::text in ('bpm', 'bpm_core')"
    ).fetchall()
    assert owners == [("bpm_owner",)]
    assert value(db, "select current_user") == "postgres"


def test_only_what_is_new_is_applied(db: Conn, folder: Path) -> None:
    migrations.run(db, folder)
    put(folder, "0003_more", "create table bpm_core.more (id int);")
    assert [m.version for m in migrations.status(db, folder).pending] == [3]
    assert migrations.run(db, folder) == [3]
    current = migrations.status(db, folder)
    assert current.latest == 3
    assert not current.pending


def test_status_changes_nothing(db: Conn, folder: Path) -> None:
    current = migrations.status(db, folder)
    assert current.latest is None
    assert [m.name for m in current.pending] == ["0001_tables", "0002_code"]
    assert value(db, "select to_regnamespace('bpm_core')") is None


def test_validate_names_what_is_pending(db: Conn, folder: Path) -> None:
    with pytest.raises(PendingMigrationsError, match="0001_tables, 0002_code"):
        migrations.validate(db, folder)
    migrations.run(db, folder)
    assert migrations.validate(db, folder).latest == 2


def test_a_failing_migration_leaves_nothing(db: Conn, folder: Path) -> None:
    put(folder, "0003_bad", "create table bpm_core.half (id int);\n\nselect 1 / 0;\n")
    with pytest.raises(MigrationError, match=r"0003_bad\.sql failed.*division by zero"):
        migrations.run(db, folder)
    assert value(db, "select to_regclass('bpm_core.half')") is None
    assert ledger(db) == [(1, "0001_tables"), (2, "0002_code")]
    put(folder, "0003_bad", "create table bpm_core.half (id int);\n")
    assert migrations.run(db, folder) == [3]


def test_a_syntax_error_is_told_with_its_line(db: Conn, folder: Path) -> None:
    put(folder, "0003_bad", "create table bpm_core.half (id int);\n\nselct 1;\n")
    with pytest.raises(MigrationError, match=r"syntax error.*line 3"):
        migrations.run(db, folder)


def test_an_edited_migration_is_refused_by_name(db: Conn, folder: Path) -> None:
    migrations.run(db, folder)
    put(folder, "0001_tables", ONE + "-- harmless?\n")
    put(folder, "0003_more", "create table bpm_core.more (id int);")
    for call in (migrations.run, migrations.status, migrations.validate):
        with pytest.raises(MigrationError, match=r"0001_tables\.sql was edited"):
            call(db, folder)
    assert value(db, "select to_regclass('bpm_core.more')") is None


def test_line_ends_of_another_system_are_no_edit(db: Conn, folder: Path) -> None:
    migrations.run(db, folder)
    (folder / "0001_tables.sql").write_bytes(ONE.replace("\n", "\r\n").encode())
    assert migrations.run(db, folder) == []


def test_a_newer_database_is_left_alone(db: Conn, folder: Path) -> None:
    """The previous driver works on the new schema as long as ``bpm.api_version()`` says so."""
    migrations.run(db, folder)
    (folder / "0002_code.sql").unlink()
    assert migrations.run(db, folder) == []
    assert [row.name for row in migrations.validate(db, folder).newer] == ["0002_code"]


def test_a_database_with_another_history_is_refused(db: Conn, folder: Path) -> None:
    migrations.run(db, folder)
    (folder / "0001_tables.sql").unlink()
    with pytest.raises(MigrationError, match="has run 0001_tables, which this version"):
        migrations.run(db, folder)


def test_a_migration_slipped_in_before_an_applied_one_is_refused(db: Conn, folder: Path) -> None:
    (folder / "0001_tables.sql").rename(folder / "0003_tables.sql")
    migrations.run(db, folder)
    put(folder, "0001_late", "create table bpm_core.late (id int);")
    with pytest.raises(MigrationError, match="0001_late is pending, but later 0003_tables"):
        migrations.run(db, folder)


def test_file_names_and_versions_are_checked(folder: Path) -> None:
    put(folder, "0002_again", "")
    with pytest.raises(MigrationError, match="version 0002 is used by"):
        migrations.load(folder)
    (folder / "0002_again.sql").rename(folder / "3_wrong.sql")
    with pytest.raises(MigrationError, match=r"3_wrong\.sql: a migration is named"):
        migrations.load(folder)


def test_a_database_from_before_versioning_is_stamped(db: Conn, folder: Path) -> None:
    db.execute("create schema bpm_core")
    db.execute(ONE)
    db.execute("insert into bpm_core.first values (7)")
    db.execute("grant all on schema bpm_core to public")
    assert migrations.run(db, folder) == [2]
    assert ledger(db) == [(1, "0001_tables"), (2, "0002_code")]
    assert value(db, "select id from bpm_core.first") == 7
    assert migrations.run(db, folder) == []


def test_half_a_schema_is_refused_and_named(db: Conn, folder: Path) -> None:
    db.execute("create schema bpm_core; create table bpm_core.first (id int)")
    db.execute("grant all on schema bpm_core to public")
    with pytest.raises(MigrationError, match=r"but not bpm_core\.other"):
        migrations.run(db, folder)
    assert value(db, "select to_regclass('bpm_core.schema_migrations')") is None


def test_two_migrators_at_once_apply_each_once(empty_database: str, folder: Path) -> None:
    put(
        folder, "0003_slow", "select pg_advisory_xact_lock(4711); create table bpm_core.m (id int);"
    )
    results: dict[str, list[int]] = {}

    def work(name: str) -> None:
        with psycopg.connect(empty_database, autocommit=True, application_name=name) as conn:
            results[name] = migrations.run(conn, folder)

    with psycopg.connect(empty_database, autocommit=True) as gate:
        gate.execute("select pg_advisory_lock(4711)")
        threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
        for thread in threads:
            thread.start()
        # One is inside of the third migration, the other waits for it at the migrators' lock.
        wait_until(
            gate,
            "select count(*) = 2 from pg_locks l join pg_stat_activity a using (pid)"
            " where not l.granted and a.application_name in ('first', 'second')",
        )
        gate.execute("select pg_advisory_unlock(4711)")
        for thread in threads:
            thread.join(60)
        assert sorted(v for r in results.values() for v in r) == [1, 2, 3]
        assert ledger(gate) == [(1, "0001_tables"), (2, "0002_code"), (3, "0003_slow")]


def wait_until(conn: Conn, query: str) -> None:
    """Wait on the state of the server (the test's time limit ends a wait in vain)."""
    while not value(conn, query):
        conn.execute("select pg_stat_clear_snapshot(), pg_sleep(0.01)")


def test_a_busy_table_makes_the_migration_fail_not_hang(
    empty_database: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "LOCK_TIMEOUT", "100ms")
    with (
        psycopg.connect(empty_database, autocommit=True) as conn,
        psycopg.connect(empty_database) as busy,
    ):
        migrations.run(conn, folder)
        busy.execute("select * from bpm_core.first")
        put(folder, "0003_alter", "alter table bpm_core.first add column b int;")
        with pytest.raises(MigrationError, match="lock timeout"):
            migrations.run(conn, folder)
        busy.rollback()
        assert migrations.run(conn, folder) == [3]


def test_two_databases_of_one_server_may_migrate_at_once(server_url: str, folder: Path) -> None:
    """Roles belong to the cluster: their bootstrap meets itself there."""
    faults: list[BaseException] = []

    def work() -> None:
        try:
            with (
                scratch.scratch_database(server_url) as url,
                psycopg.connect(url, autocommit=True) as conn,
            ):
                assert migrations.run(conn, folder) == [1, 2]
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults


def test_who_may_not_install_is_told_what_to_do(server_url: str, db: Conn, folder: Path) -> None:
    login = "pgbpm_test_plain"
    db.execute(f"drop role if exists {login}")
    db.execute(f"create role {login} login")
    try:
        plain = psycopg.connect(conninfo_as(db, server_url, login), autocommit=True)
        with plain, pytest.raises(MigrationError, match="may not install") as caught:
            migrations.run(plain, folder)
        assert "bundle" in str(caught.value.hint)
        migrations.run(db, folder)
        put(folder, "0003_more", "create table bpm_core.more (id int);")
        db.execute(f"grant bpm_owner to {login}")
        with psycopg.connect(conninfo_as(db, server_url, login), autocommit=True) as member:
            assert migrations.run(member, folder) == [3]
        db.execute(f"revoke bpm_owner from {login}")
        db.execute(f"grant bpm_worker to {login}")
        db.execute("grant usage on schema bpm to bpm_worker")
        with psycopg.connect(conninfo_as(db, server_url, login), autocommit=True) as worker:
            assert migrations.validate(worker, folder).latest == 3
    finally:
        db.execute(f"drop role {login}")


def conninfo_as(db: Conn, server_url: str, login: str) -> str:
    """A connection string for another login (local connections are trusted on test servers)."""
    return psycopg.conninfo.make_conninfo(
        server_url, dbname=db.info.dbname, user=login, password=""
    )


# -- the package's own migrations ----------------------------------------------------------------


def test_the_packages_migrations_apply_and_again_do_nothing(db: Conn) -> None:
    versions = [m.version for m in migrations.load()]
    assert versions
    assert migrations.run(db) == versions
    assert migrations.run(db) == []


def test_a_database_made_from_sql_is_stamped_at_0001(db: Conn) -> None:
    scratch.run_script(db, source.whole_sql())
    assert migrations.run(db) == [m.version for m in migrations.load()][1:]


def test_bundle_installs_upgrades_and_repeats(empty_database: str) -> None:
    script = migrations.bundle()
    for _ in range(2):
        piped(empty_database, script)
        with psycopg.connect(empty_database, autocommit=True) as conn:
            assert migrations.run(conn) == []
            assert [v for v, _ in ledger(conn)] == [m.version for m in migrations.load()]


def test_bundle_refuses_an_edited_database(empty_database: str) -> None:
    piped(empty_database, migrations.bundle())
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("update bpm_core.schema_migrations set checksum = 'x' where version = 1")
    done = piped(empty_database, migrations.bundle(), expect=3)
    assert "is not what this database ran" in done.stderr


def test_bundle_equals_migrate(server_url: str, empty_database: str) -> None:
    piped(empty_database, migrations.bundle())
    with scratch.scratch_database(server_url) as other:
        with psycopg.connect(other, autocommit=True) as conn:
            migrations.run(conn)
            migrated = schema_diff.read_schema(conn)
        with psycopg.connect(empty_database, autocommit=True) as conn:
            assert schema_diff.compare(migrated, schema_diff.read_schema(conn)) == []


def piped(url: str, script: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    """``pgbpm bundle | psql -1 mydb``."""
    done = subprocess.run(
        [psql(), "-X", "-q", "-1", url], input=script, capture_output=True, text=True
    )
    assert done.returncode == expect, done.stderr
    return done


# -- migrate_on_start ----------------------------------------------------------------------------


def test_migrate_on_start(empty_database: str) -> None:
    settings = config.Config().with_values("database", url=empty_database, migrate_on_start=False)
    with pytest.raises(PendingMigrationsError), open_database(settings):
        pass
    with psycopg.connect(empty_database) as conn:
        assert value(conn, "select to_regnamespace('bpm')") is None
    settings = settings.with_values("database", migrate_on_start=True)
    with open_database(settings) as database, database.connect() as connection:
        assert migrations.validate(connection).latest is not None
    settings = settings.with_values("database", migrate_on_start=False)
    with open_database(settings):
        pass


def test_a_schema_that_does_not_serve_this_driver_is_refused(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db_module, "API_VERSION", 99)
    settings = config.Config().with_values("database", url=empty_database)
    with pytest.raises(MigrationError, match="version 99"), open_database(settings):
        pass

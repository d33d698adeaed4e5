"""The schema: sql/ = migrations/, what the comparison sees, and the migration it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgbpm import migrations, schema_diff, source
from pgbpm.devtools import baseline, migration, scratch

Conn = psycopg.Connection[Any]


def test_sql_equals_migrations(server_url: str) -> None:
    found = migration.differences(server_url)
    assert not found, "make baseline (or make migration NAME=…):\n" + "\n".join(map(str, found))


def test_installing_leaves_nothing_to_the_public(server_url: str, template: str) -> None:
    """Functions of ours are executable by roles of ours alone."""
    with (
        scratch.scratch_database(server_url, template) as url,
        psycopg.connect(url, autocommit=True) as conn,
    ):
        rows = conn.execute(
            "select p.oid::regprocedure::text from pg_proc p"
            " cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x"
            " where p.pronamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)"
            "   and x.grantee = 0 order by 1"
        ).fetchall()
    assert rows == []


# -- the comparison, on a small schema of its own ------------------------------------------------

SMALL = """
create type bpm_core.colour as enum ('red', 'green');
create table bpm_core.thing (
  id int primary key, name text not null default 'x', colour bpm_core.colour,
  constraint short check (length(name) < 10)
) with (fillfactor = 80);
create index thing_name on bpm_core.thing (name) where id > 0;
create function bpm.twice(p_a int, p_b int default 2) returns int language sql stable
  set search_path = pg_catalog, pg_temp as $$ select p_a * p_b $$;
create view bpm.things with (security_barrier = true) as select t.id, t.name from bpm_core.thing t;
create view bpm.names as select t.name from bpm.things t;
revoke all on function bpm.twice(int, int) from public;
grant execute on function bpm.twice(int, int) to bpm_reader;
grant select on bpm.things to bpm_reader;
comment on table bpm_core.thing is 'A thing.';
comment on column bpm.things.name is 'Its name.';
"""

TWICE = "bpm.twice(integer,integer)"
THING = "bpm_core.thing"
CHANGES: dict[str, set[tuple[str, str]]] = {
    f"alter table {THING} add extra int": {("column", f"{THING}.extra")},
    f"alter table {THING} alter name drop not null": {("column", f"{THING}.name")},
    f"alter table {THING} alter name set default 'y'": {("column", f"{THING}.name")},
    f"alter table {THING} drop constraint short": {("constraint", f"{THING}.short")},
    "drop index bpm_core.thing_name": {("index", "bpm_core.thing_name")},
    f"alter table {THING} set (fillfactor = 70)": {("table", THING)},
    f"alter table {THING} enable row level security": {("table", THING)},
    f"create policy mine on {THING} using (true)": {("policy", f"{THING}.mine")},
    f"alter function {TWICE} volatile": {("function", TWICE)},
    f"alter function {TWICE} security definer": {("function", TWICE)},
    f"alter function {TWICE} set jit = off": {("function", TWICE)},
    "alter view bpm.things reset (security_barrier)": {("view", "bpm.things")},
    f"grant execute on function {TWICE} to public": {("privileges", f"function {TWICE}")},
    f"grant update on {THING} to bpm_worker": {("privileges", f"table {THING}")},
    f"grant update (name) on {THING} to bpm_worker": {("column privileges", f"{THING}.name")},
    "grant usage on schema bpm_core to bpm_worker": {("privileges", "schema bpm_core")},
    "alter default privileges revoke execute on functions from public": {
        ("default privileges", "bpm_owner in all schemas on f")
    },
    f"comment on table {THING} is 'Another.'": {("comment", f"table {THING}")},
    "comment on column bpm.things.name is null": {("comment", "column bpm.things.name")},
}
NEW_LABEL = "alter type bpm_core.colour add value 'blue' before 'green'"


@pytest.fixture
def db(empty_database: str) -> Iterator[Conn]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        scratch.run_script(conn, source.bootstrap_sql())
        conn.execute("set role bpm_owner")
        conn.execute(SMALL)
        yield conn


def test_every_kind_of_change_is_seen(db: Conn) -> None:
    before = schema_diff.read_schema(db)
    for change, expected in CHANGES.items():
        with db.transaction(force_rollback=True):
            db.execute(change)
            found = schema_diff.compare(before, schema_diff.read_schema(db))
        assert {(d.kind, d.name) for d in found} == expected, change
    db.execute(NEW_LABEL)
    found = schema_diff.compare(before, schema_diff.read_schema(db))
    assert {(d.kind, d.name) for d in found} == {("type", "bpm_core.colour")}


def test_the_order_of_columns_is_no_difference(db: Conn) -> None:
    before = schema_diff.read_schema(db)
    db.execute("drop view bpm.names, bpm.things")
    db.execute("alter table bpm_core.thing drop colour")
    db.execute("alter table bpm_core.thing add colour bpm_core.colour")
    db.execute(SMALL[SMALL.index("create view") : SMALL.index("revoke")])
    db.execute("grant select on bpm.things to bpm_reader")
    db.execute("comment on column bpm.things.name is 'Its name.'")
    assert schema_diff.compare(before, schema_diff.read_schema(db)) == []


NEXT = (
    SMALL.replace("select p_a * p_b", "select p_b * p_a")
    .replace("select t.id, t.name from", "select t.name, t.id, t.colour from")
    .replace("to bpm_reader", "to bpm_worker")
    .replace("'Its name.'", "'Its name, that''s it.'")
)
MORE = """
create function bpm.thrice(p_a int) returns bigint language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $f$ begin return 3 * p_a; end $f$;
revoke all on function bpm.thrice(int) from public;
grant execute on function bpm.thrice(int) to bpm_worker, bpm_admin;
comment on function bpm.thrice(int) is 'Three times.';
"""


def schema_of(server_url: str, script: str) -> schema_diff.Schema:
    with (
        scratch.scratch_database(server_url) as url,
        psycopg.connect(url, autocommit=True) as conn,
    ):
        scratch.run_script(conn, f"{source.bootstrap_sql()} set role bpm_owner; {script}")
        return schema_diff.read_schema(conn)


@pytest.mark.parametrize(
    "script",
    [
        NEXT,
        SMALL + MORE,
        NEXT + MORE,
        SMALL.replace("returns int language", "returns bigint language"),
        SMALL.replace("p_b int default 2", "p_b int"),
        SMALL[: SMALL.index("create view bpm.names")] + SMALL[SMALL.index("revoke") :],
        SMALL[: SMALL.index("comment")],
    ],
    ids=["bodies", "new function", "both", "result type", "default", "view gone", "no comments"],
)
def test_the_written_migration_leads_there(db: Conn, server_url: str, script: str) -> None:
    old, new = schema_diff.read_schema(db), schema_of(server_url, script)
    assert schema_diff.compare(old, new)
    text = schema_diff.write_migration(old, new, schema_diff.view_users(db))
    assert schema_diff.HAND_MARK not in text
    db.execute(text)
    assert schema_diff.compare(schema_diff.read_schema(db), new) == []


def test_what_a_person_must_write_is_marked(db: Conn, server_url: str) -> None:
    new = schema_of(server_url, SMALL.replace("name text not null", "name text") + MORE)
    text = schema_diff.write_migration(schema_diff.read_schema(db), new, schema_diff.view_users(db))
    assert f"{schema_diff.HAND_MARK} column bpm_core.thing.name: differs" in text
    assert "should be: text default 'x'::text" in text
    assert "FUNCTION bpm.thrice" in text


def test_no_difference_writes_nothing(db: Conn) -> None:
    schema = schema_diff.read_schema(db)
    assert schema_diff.write_migration(schema, schema, {}) == ""


# -- the baseline --------------------------------------------------------------------------------


def small_tree(root: Path) -> Path:
    tree = root / "sql"
    for name, text in {
        "00_a/tables.sql": "create table bpm_core.a ();",
        "00_a/one.sql": "-- one",
        "40_b/tables.sql": "create table bpm_core.b ();",
        "40_b/views.sql": "-- views of b",
        "90_access/roles.sql": "-- roles",
        "90_access/grants.sql": "-- grants",
        "95_testkit/kit.sql": "-- kit",
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    return tree


def test_load_order(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    whole = source.whole_sql(tree)
    marks = ["-- roles", "set role", "bpm_core.a", "bpm_core.b", "-- one", "-- views", "-- grants"]
    places = [whole.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "-- kit" not in whole
    assert "-- kit" in source.kit_sql(tree)
    assert "-- roles" not in source.tables_sql(tree) + source.code_sql(tree)


def test_a_stale_baseline_is_noticed(tmp_path: Path) -> None:
    tree, folder = small_tree(tmp_path), tmp_path / "migrations"
    folder.mkdir()
    assert baseline.is_stale(tree, folder)
    for name, text in baseline.baseline_files(tree).items():
        (folder / name).write_text(text, encoding="utf-8")
    assert not baseline.is_stale(tree, folder)
    (tree / "00_a" / "one.sql").write_text("-- two", encoding="utf-8")
    assert baseline.is_stale(tree, folder)
    (folder / "0003_released.sql").write_text("select 1;", encoding="utf-8")
    assert not baseline.is_stale(tree, folder)


def test_an_error_tells_its_file(db: Conn, tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    (tree / "40_b" / "views.sql").write_text("-- x\nselect nothing;\n", encoding="utf-8")
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        scratch.run_script(db, source.code_sql(tree))
    assert caught.value.__notes__ == ["at 40_b/views.sql line 2"]


def test_migrations_are_numbered_from_one() -> None:
    versions = [m.version for m in migrations.load()]
    assert versions == list(range(1, len(versions) + 1))

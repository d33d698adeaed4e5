"""Tricks: settings, objects that shadow names of the engine, queries that make views talk."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.wall.arguments import literal
from tests.wall.world import Tenant

Connection = psycopg.Connection[dict[str, Any]]

ALONE: dict[str, str] = {
    '"bpm.trace_id"': "'mkforged'",
    '"bpm.tenant_id"': "'wall-b'",
    "session_replication_role": "replica",
    "default_transaction_read_only": "on",
}
"""Settings tried one by one, when thorough."""

TOGETHER: dict[str, str] = {
    "row_security": "off",
    "search_path": "''",
    '"bpm.trace_id"': "'" + "x" * 100_000 + "'",
    '"bpm.actor"': "'postgres'",
    '"bpm.role"': "'bpm_owner'",
    '"role.name"': "'bpm_owner'",
    "transform_null_equals": "on",
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "array_nulls": "off",
    "bytea_output": "escape",
    "datestyle": "'SQL, DMY'",
    "intervalstyle": "sql_standard",
    "timezone": "'Asia/Kathmandu'",
    "extra_float_digits": "-15",
    "xmloption": "document",
    "xmlbinary": "hex",
    "quote_all_identifiers": "on",
    "check_function_bodies": "off",
    "plan_cache_mode": "force_custom_plan",
    "from_collapse_limit": "1",
    "join_collapse_limit": "1",
    "enable_partition_pruning": "off",
    "work_mem": "64",
    "lc_messages": "'C'",
    "lc_numeric": "'C'",
    "plpgsql.variable_conflict": "use_column",
    "plpgsql.extra_errors": "'all'",
    "plpgsql.check_asserts": "off",
    "geqo_threshold": "2",
    "cursor_tuple_fraction": "1",
}
"""Settings tried all at once; one by one when thorough."""

PATHS = ("pg_temp, wall_evil, bpm_core, bpm, pg_catalog", "wall_evil, pg_temp, pg_catalog")

_EVIL = "begin raise exception 'mkbeta shadowed' using errcode = 'WALL1'; end"


def objects(conn: Connection, roles: list[str]) -> list[str]:
    """Statements that define again, elsewhere, what the engine uses: its tables and functions, and
    functions, operators, casts and tables of PostgreSQL."""
    found = ["create schema wall_evil", "grant all on schema wall_evil to public"]
    rows = conn.execute(
        "select p.proname as name, p.pronamespace = 'pg_catalog'::regnamespace as system,"
        " pg_get_function_identity_arguments(p.oid) as identity,"
        " array(select format_type(t, null) from unnest(p.proargtypes) t) as types"
        "  from pg_proc p join pg_type r on r.oid = p.prorettype"
        " where p.prokind = 'f' and p.provariadic = 0 and r.typtype <> 'p'"
        "   and not exists (select from unnest(p.proargtypes) a join pg_type t on t.oid = a"
        "                    where t.typtype = 'p')"
        "   and (p.pronamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)"
        "        or p.pronamespace = 'pg_catalog'::regnamespace and p.proname = any (%s))",
        [_SYSTEM],
    ).fetchall()
    seen = set()
    for row in rows:
        arguments = ", ".join(row["types"])
        key = (row["name"], arguments)
        if key in seen:
            continue
        seen.add(key)
        for schema in ("wall_evil", "pg_temp"):
            found.append(
                f'create function {schema}."{row["name"]}"({arguments}) returns text'
                f" language plpgsql as $evil$ {_EVIL} $evil$"
            )
    for name, left, right in _OPERATORS:
        function = f"wall_evil.op_{len(found)}"
        found.append(
            f"create function {function}({left}, {right}) returns boolean language plpgsql"
            f" as $evil$ {_EVIL} $evil$"
        )
        found.append(
            f"create operator wall_evil.{name} (leftarg = {left}, rightarg = {right},"
            f" function = {function})"
        )
    for row in conn.execute(
        "select distinct c.relname as name from pg_class c where c.relkind in ('r', 'p', 'v')"
        " and not c.relispartition"
        " and (c.relnamespace in ('bpm_core'::regnamespace, 'bpm'::regnamespace)"
        "      or c.relname in ('pg_roles', 'pg_proc', 'pg_class', 'pg_settings', 'pg_authid',"
        "                       'pg_auth_members', 'pg_stat_activity', 'pg_timezone_abbrevs'))"
    ).fetchall():
        found.append(f'create temp table "{row["name"]}" (mkbeta_shadow int) on commit drop')
    found.append("create type wall_evil.text as enum ('a')")
    found.append("create type wall_evil.uuid as enum ('a')")
    found.append("create type wall_evil.jsonb as enum ('a')")
    found.append("grant all on all tables in schema pg_temp to public")
    found += [f"grant usage on schema wall_evil to {role}" for role in roles]
    return found


_SYSTEM = [
    "now", "clock_timestamp", "lower", "upper", "length", "left", "right", "starts_with", "md5",
    "sha256", "jsonb_typeof", "jsonb_array_length", "jsonb_set", "jsonb_array_elements",
    "jsonb_each", "jsonb_object_keys", "pg_has_role", "current_setting", "set_config",
    "gen_random_uuid", "date_trunc", "encode", "decode", "convert_to", "btrim", "replace",
    "to_regclass", "pg_try_advisory_xact_lock", "pg_advisory_xact_lock", "unnest", "array_length",
    "pg_try_advisory_xact_lock_shared", "pg_notify",
    "cardinality", "generate_series", "hashtextextended", "texteq", "uuid_eq", "jsonb_path_match",
    "jsonb_path_exists", "jsonb_path_query_first", "to_char", "regexp_replace", "regexp_matches",
    "string_to_array", "array_to_string", "split_part", "octet_length", "nameeq", "timestamptz_gt",
]  # fmt: skip
_OPERATORS = [
    (name, kind, kind)
    for name in ("=", "<>", "<", ">", "<=", ">=")
    for kind in ("pg_catalog.text", "pg_catalog.uuid", "pg_catalog.jsonb", "pg_catalog.int4",
                 "pg_catalog.int8", "pg_catalog.timestamptz", "pg_catalog.bool")
] + [
    ("||", "pg_catalog.text", "pg_catalog.text"), ("||", "pg_catalog.jsonb", "pg_catalog.jsonb"),
    ("->", "pg_catalog.jsonb", "pg_catalog.text"), ("->>", "pg_catalog.jsonb", "pg_catalog.text"),
    ("~", "pg_catalog.text", "pg_catalog.text"), ("!~", "pg_catalog.text", "pg_catalog.text"),
    ("?", "pg_catalog.jsonb", "pg_catalog.text"), ("@>", "pg_catalog.jsonb", "pg_catalog.jsonb"),
]  # fmt: skip


def reads(view: str, attacker: Tenant, victim: Tenant) -> dict[str, str]:
    """Ways to read a view, by name."""
    theirs, ours = literal(victim.name), literal(attacker.name)
    v = f"bpm.{view}"
    return {
        "all": f"select * from {v}",
        "theirs": f"select * from {v} where tenant_id = {theirs}",
        "not ours": f"select * from {v} where tenant_id <> {ours}",
        "function": f"select * from {v} x where wall.leak(x::text)",
        "operator": f"select * from {v} x where x::text operator(wall.<<<>>>) ''",
        "error": f"select * from {v} x where tenant_id = {theirs} and 1/length(left(x::text,0))=1",
        "cast": f"select * from {v} x where tenant_id = {theirs} and (x::text)::int > 0",
        "join": f"select x.* from {v} x join {v} y on y.tenant_id = {theirs}",
        "count": f"select count(*) as n from {v} where tenant_id <> {ours} having count(*) > 0",
    }

"""``make migration NAME=…``: the next migration, from the difference of migrations/ and sql/."""

from __future__ import annotations

import re
import sys

import psycopg

from pgbpm import migrations, schema_diff, source
from pgbpm.devtools import scratch
from pgbpm.resources import migrations_dir
from pgbpm.schema_diff import Difference, Schema


def schemas(server: str) -> tuple[Schema, Schema, dict[str, set[str]]]:
    """The schema that migrations/ makes, the one of sql/, and who reads the former's views."""
    with scratch.scratch_database(server) as a, psycopg.connect(a, autocommit=True) as conn:
        migrations.run(conn)
        old, users = schema_diff.read_schema(conn), schema_diff.view_users(conn)
    with scratch.scratch_database(server) as b, psycopg.connect(b, autocommit=True) as conn:
        scratch.run_script(conn, source.whole_sql())
        new = schema_diff.read_schema(conn)
    return old, new, users


def differences(server: str) -> list[Difference]:
    """What distinguishes sql/ from migrations/; empty when all is well."""
    old, new, _ = schemas(server)
    return schema_diff.compare(old, new)


def main(name: str) -> int:
    """Write the file and say what is left to do."""
    if not re.fullmatch(r"[a-z0-9_]+", name):
        print("usage: make migration NAME=what_it_does   (lower case, digits, underscores)")
        return 2
    with scratch.scratch_server() as server:
        old, new, users = schemas(server)
        text = schema_diff.write_migration(old, new, users)
        if not text:
            print("sql/ and migrations/ are the same: nothing to write")
            return 0
        known = migrations.load()
        version = known[-1].version + 1 if known else 1
        file = migrations_dir() / f"{version:04}_{name}.sql"
        head = f"-- {name.replace('_', ' ').capitalize()}.\n\n{schema_diff.PINNED}\n\n"
        file.write_text(head + text, encoding="utf-8")
        print(f"wrote migrations/{file.name}")
        if schema_diff.HAND_MARK in text:
            print(f"Lines that start with {schema_diff.HAND_MARK!r} wait for statements of yours.")
            return 0
        left = differences(server)
    for difference in left:
        print(f"not covered: {difference}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))

"""``make baseline``: write ``migrations/`` anew from ``sql/``. Only until the first release."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pgbpm import migrations, schema_diff, source
from pgbpm.resources import migrations_dir, sql_dir

_HEAD = """\
-- {what}
-- Written from sql/ by `make baseline` until the first release; from then on it never changes.

{pinned}

"""


def _head(what: str) -> str:
    return _HEAD.format(what=what, pinned=schema_diff.PINNED)


def baseline_files(root: Path | None = None) -> dict[str, str]:
    """File name → text of the baseline that belongs to a tree ``sql/``."""
    return {
        "0001_tables.sql": _head("Types and tables.") + source.tables_sql(root),
        "0002_code.sql": _head("Functions, views, grants.") + source.code_sql(root),
    }


def is_stale(root: Path | None = None, folder: Path | None = None) -> bool:
    """Whether the baseline is all there is, and ``sql/`` has moved on since it was written."""
    folder = folder or migrations_dir()
    wanted = baseline_files(root)
    present = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.sql")}
    return present.keys() <= wanted.keys() and present != wanted


def main() -> int:
    """Write the files; refuses once a release is tagged."""
    checkout = sql_dir().parent
    tags = subprocess.run(
        ["git", "-C", str(checkout), "tag", "--list", "v*"], capture_output=True, text=True
    ).stdout.split()
    if tags:
        print(f"{tags[0]} is released: write a new migration (make migration NAME=…)")
        return 1
    folder = migrations_dir()
    for migration in migrations.load(folder):
        (folder / f"{migration.name}.sql").unlink()
    for name, text in baseline_files().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(f"wrote migrations/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

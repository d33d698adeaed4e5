"""pgspot over every file of ``sql/``: definer functions, search paths, unqualified names.

Each file is looked at as it is loaded: in schemas of our own, with ``search_path`` pinned, which is
what the head of each migration does. What pgspot is told to be silent about stands here, with the
reason; an entry that is no longer needed is a finding.
"""

from __future__ import annotations

import contextlib
import io
import re
from argparse import Namespace
from pathlib import Path

from pgspot.state import Counter, State
from pgspot.visitors import visit_sql

from tests.lint.sql_rules import TEST_KIT, SqlFile

HEAD = "set search_path = pg_catalog, pg_temp;\ncreate schema bpm;\ncreate schema bpm_core;\n"

INLINED = {"PS001", "PS005", "PS009", "PS016", "PS017"}
"""Silent for SQL functions without ``search_path`` that are no definers: a function with settings
is never inlined, and these are made to be. Nobody may call them (a test of the privileges says so)
but functions that pin the path, in whose place they then stand; no public view uses one."""

NOT_READ: dict[str, str] = {
    # file -> what pgspot's parser of PL/pgSQL says to it; it is looked at without its body
    "backlog_checks.sql": 'syntax error at or near "row", at index 0',
    "compile_bpmn.sql": "record variable cannot be part of multiple-item INTO list",
    "compile_process.sql": '"nodes" is not a scalar variable',
    "compile_text.sql": '"findings" is not a scalar variable',
    "expand_events.sql": "record variable cannot be part of multiple-item INTO list",
    "lower_compensation.sql": "record variable cannot be part of multiple-item INTO list",
    "upkeep_checks.sql": 'syntax error at or near "bpm_core", at index 0',
}
"""It knows no catalog: rows among the targets of INTO, results that are rows, ``return next`` of
a row are errors to it. Their search paths are pinned, and plpgsql_check reads the whole of them."""


_COMPOSITE = re.compile(r"^(\s+[rv]_\w+\s+(?:constant\s+)?)bpm_core\.\w+(?=\s*(?:;|:=))", re.M)
"""Variables of our row types: to pgspot's parser, which has no catalog, they are no rows."""


def spot(file: SqlFile, *, bodies: bool = True) -> list[str]:
    """What pgspot says of one file. Raises what its parser raises."""
    arguments = Namespace(
        plpgsql=bodies, proc_without_search_path=[], ignore=[], ignore_lang=[], sql_fn=[],
        summary_only=False,
    )  # fmt: skip
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        text = _COMPOSITE.sub(r"\1record", file.text)
        visit_sql(State(Counter(arguments)), HEAD + text, toplevel=True)
    return [line for line in said.getvalue().splitlines() if line.strip()]


def check_file(path: Path) -> list[str]:
    """Findings in one file, with its name."""
    file = SqlFile.read(path)
    where = f"sql/{file.room}/{path.name}"
    try:
        said = spot(file)
        refused = None
    except Exception as error:
        refused = str(error)
        said = spot(file, bodies=False)
    found = []
    if refused != NOT_READ.get(path.name):
        found.append(f"{where}: NOT_READ should say {refused!r}")
    inlined = "language sql" in file.header and "search_path" not in file.header
    silent = INLINED if inlined and "security definer" not in file.header else set()
    found += [f"{where}: {line}" for line in said if line.partition(":")[0] not in silent]
    return found


def check_tree(root: Path) -> list[str]:
    """Findings in all files of the product."""
    files = [path for path in sorted(root.rglob("*.sql")) if path.parent.name != TEST_KIT]
    return [finding for path in files for finding in check_file(path)]

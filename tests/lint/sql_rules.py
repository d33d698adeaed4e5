"""Rules for the tree ``sql/`` that no general linter knows: see the laws and conventions in docs/.

Each rule takes a :class:`SqlFile` and yields what is wrong with it, in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_LINES = 110
PIN_HEADER = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
HOT_ROOMS = {"40_flow", "50_work", "60_decision", "70_delivery", "75_intake"}
HOT_DOORS = {
    *("start_process", "start_processes", "claim_tasks", "claim_tasks_at", "complete_task"),
    *("complete_tasks", "fail_task", "fail_tasks", "throw_error", "extend_leases", "release_tasks"),
    *("correlate_message", "complete_user_task", "decide_approval", "apply_approval_effects"),
    *("broadcast_signal", "accept_event", "accept_events", "dispatch_event"),
    *("claim_commands", "claim_commands_at", "mark_commands", "tick", "tenants_with_work"),
    "tenants_in_turn",
}
"""Public functions that run per step, wherever they stand."""

TEST_KIT = "95_testkit"
_CREATE = re.compile(r"create\s+(or\s+replace\s+)?(function|procedure)\s+([\w.\"]+)\s*\(", re.I)
_TABLE = re.compile(r"\b(from|join|into|update)\s+(only\s+)?bpm_core\.\w+(?!\w*\s*\()")
_DYNAMIC = re.compile(r"(?<!grant )(?<!revoke )\bexecute\b(?!\s+(on|function|procedure)\b)", re.I)
_UPPER = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|JOIN|BEGIN|END|CREATE|RETURNS|DECLARE|IF|THEN|LOOP)\b"
)


@dataclass(frozen=True, slots=True)
class SqlFile:
    """One file; ``code`` is its text without comments and with the contents of strings blanked."""

    path: Path
    text: str
    code: str

    @staticmethod
    def read(path: Path) -> SqlFile:
        """Read a file."""
        text = path.read_text(encoding="utf-8")
        return SqlFile(path, text, blank(text))

    @property
    def room(self) -> str:
        """Its folder."""
        return self.path.parent.name

    @property
    def functions(self) -> list[str]:
        """Names of the functions it makes."""
        return [match.group(3) for match in _CREATE.finditer(self.code)]

    @property
    def header(self) -> str:
        """What stands between the first function's name and its body."""
        start = _CREATE.search(self.code)
        if not start:
            return ""
        body = re.search(r"\bas\s+\$|\bas\s+'|\bbegin\s+atomic\b", self.code[start.start() :])
        end = start.start() + body.start() if body else len(self.code)
        return " ".join(self.code[start.start() : end].split())

    @property
    def is_plpgsql(self) -> bool:
        """Whether its function is PL/pgSQL."""
        return "language plpgsql" in self.header

    @property
    def is_hot(self) -> bool:
        """Whether its function runs per step and plans statements on tables."""
        name = self.functions[0] if self.functions else ""
        inside = self.room in HOT_ROOMS and name.startswith("bpm_core.")
        door = name.removeprefix("bpm.") in HOT_DOORS
        return door or (inside and bool(_TABLE.search(self.code)))


def blank(text: str) -> str:
    """Comments and the contents of quoted strings as spaces, dollar-quoted bodies kept."""
    pattern = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.S)

    def spaces(match: re.Match[str]) -> str:
        found = match.group(0)
        inner = "".join("\n" if c == "\n" else " " for c in found[1:-1])
        return (
            f"'{inner}'" if found[0] == "'" else "".join("\n" if c == "\n" else " " for c in found)
        )

    return pattern.sub(spaces, text)


Rule = Callable[[SqlFile], Iterator[str]]


def one_object_named_after_the_file(file: SqlFile) -> Iterator[str]:
    if file.path.name in {"tables.sql", "views.sql", "roles.sql", "grants.sql"}:
        return
    if file.room == TEST_KIT:
        return
    names = file.functions
    if len(names) != 1:
        yield f"holds {len(names)} functions instead of one"
    elif names[0].rpartition(".")[2] != file.path.stem:
        yield f"makes {names[0]}, but is named {file.path.name}"


def contract_on_top(file: SqlFile) -> Iterator[str]:
    if not file.text.startswith("-- "):
        yield "does not open with its contract"


def not_too_long(file: SqlFile) -> Iterator[str]:
    lines = len(file.text.splitlines())
    if file.functions and lines > MAX_LINES:
        yield f"has {lines} lines; a function that long is two functions"


def search_path_is_pinned(file: SqlFile) -> Iterator[str]:
    if not file.functions or file.room == TEST_KIT:
        return
    pinned = "set search_path = pg_catalog, pg_temp" in file.header
    inlinable = "language sql" in file.header and "security definer" not in file.header
    if not pinned and not inlinable:
        yield "does not pin search_path = pg_catalog, pg_temp"


def plan_is_pinned(file: SqlFile) -> Iterator[str]:
    if not (file.is_plpgsql and file.is_hot):
        return
    wanted = [f"set {name} = {value}" for name, value in PIN_HEADER.items()]
    missing = [words for words in wanted if not re.search(rf"\b{words}\b", file.header)]
    if missing:
        yield f"runs per step but lacks: {', '.join(missing)}"


def doors_are_definers(file: SqlFile) -> Iterator[str]:
    for name in file.functions:
        definer = "security definer" in file.header
        if name.startswith("bpm.") and not definer:
            yield f"{name} is public but not security definer"
        if name.startswith("bpm_core.") and definer:
            yield f"{name} is private but security definer"


def volatility_is_stated(file: SqlFile) -> Iterator[str]:
    if file.functions and not re.search(r"\b(volatile|stable|immutable)\b", file.header):
        yield "does not state its volatility"


def engine_clock_and_ids(file: SqlFile) -> Iterator[str]:
    code = file.code.replace("bpm_core.now()", "")
    home = file.room in {"00_foundation", TEST_KIT}
    if not home and re.search(r"\b(now\(\)|clock_timestamp\(\)|current_timestamp|localtime)", code):
        yield "takes the time elsewhere than from bpm_core.now()"
    if not home and re.search(r"\b(gen_random_uuid|uuid_generate_\w+|uuidv7)\(", code):
        yield "makes ids elsewhere than in bpm_core.new_id()"


def errors_by_fail(file: SqlFile) -> Iterator[str]:
    if file.path.stem != "fail" and re.search(r"\braise exception\b", file.code):
        yield "raises an error elsewhere than in bpm_core.fail()"


def no_forbidden_locks(file: SqlFile) -> Iterator[str]:
    if re.search(r"\bfor update\b", file.code):
        yield "locks rows for update (law 1: for no key update)"
    if re.search(r"\bpg_sleep|\bdblink|\bcopy\s+\w+\s+to program", file.code):
        yield "sleeps or calls out (law 5)"
    if re.search(r"\bpg_notify\(|\bnotify\s+\w+\s*[,;]", file.code) and file.room in HOT_ROOMS:
        yield "notifies on the write path (law 10)"
    if re.search(r"create\s+(or\s+replace\s+)?(constraint\s+)?trigger\b", file.code):
        yield "makes a trigger (law 9)"


def builds_sql(code: str) -> bool:
    """Whether it holds the statement EXECUTE (not the privilege)."""
    return bool(_DYNAMIC.search(code))


def dynamic_sql_is_listed(file: SqlFile) -> Iterator[str]:
    if builds_sql(file.code) and file.path.name not in DYNAMIC_SQL:
        yield "builds SQL at run time; if it must, DYNAMIC_SQL says from what"


def lower_case(file: SqlFile) -> Iterator[str]:
    found = _UPPER.search(file.code)
    if found:
        yield f"writes {found.group(0)} in capitals"


DYNAMIC_SQL: dict[str, str] = {
    "roles.sql": "names of roles and of the database, from lists in the file and the catalog",
    "apply_grants.sql": "signatures and tables from the catalog, as regprocedure and regclass",
    "protect_table.sql": "a table from the catalog, as regclass",
    "create_history_partitions.sql": "names and bounds made from the clock",
    "detach_history.sql": "a partition's name from the catalog",
    "drop_history.sql": "the same",
    "tie_identity.sql": "tables as regclass, columns from the catalog",
    "missing_at_host.sql": "the same; values of the caller only as parameters",
    "validate_identity.sql": "a table and a constraint from the catalog",
    "detach_identity.sql": "the same",
    "schema_check.sql": "the ledger, which may not be there: a name written in the file",
    "invariant_i_22.sql": "the same",
}
"""The only files that may build SQL → what goes into it. Never what a caller passes."""

EXEMPT: dict[tuple[str, str], str] = {
    ("visible_tenants.sql", "doors_are_definers"): "row filters of callers read the grants by it",
    ("administered_tenants.sql", "doors_are_definers"): "the same",
    ("lock_to_remove.sql", "no_forbidden_locks"): "what it locks is deleted next; it skips",
    ("close_case.sql", "no_forbidden_locks"): "only this lock waits for foreign keys being written",
    ("horizon_holders.sql", "engine_clock_and_ids"): "ages of server sessions, by their clock",
    ("upkeep_checks.sql", "engine_clock_and_ids"): "compares the engine's clock with the server's",
}
"""File and rule → why the rule does not hold there."""

RULES: list[Rule] = [
    one_object_named_after_the_file,
    contract_on_top,
    not_too_long,
    search_path_is_pinned,
    plan_is_pinned,
    doors_are_definers,
    volatility_is_stated,
    engine_clock_and_ids,
    errors_by_fail,
    no_forbidden_locks,
    dynamic_sql_is_listed,
    lower_case,
]


def check(path: Path) -> list[str]:
    """What is wrong with one file."""
    file = SqlFile.read(path)
    rules = [rule for rule in RULES if (path.name, rule.__name__) not in EXEMPT]
    where = f"sql/{file.room}/{path.name}"
    return [f"{where}: {message}" for rule in rules for message in rule(file)]


def check_tree(root: Path) -> list[str]:
    """What is wrong with all files below a folder."""
    return [message for path in sorted(root.rglob("*.sql")) for message in check(path)]

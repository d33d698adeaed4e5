"""Storms the wall: series of calls, each undone, each judged."""

from __future__ import annotations

import contextlib
import random
import secrets
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.wall import shadows, world
from tests.wall.arguments import Function, Store, Values, functions, literal
from tests.wall.judge import (
    DENIED,
    OK,
    Call,
    Findings,
    Outcome,
    Secrets,
    code_is_expected,
    comparable,
)  # fmt: skip
from tests.wall.world import ATTACKER, TENANTS, UUID, VICTIM, Tenant

Connection = psycopg.Connection[dict[str, Any]]
Tell = Callable[[str], None]

LADDER = ("reader", "worker", "operator", "admin")
ALL = "all"
"""Member of all four roles, admin of the attacker's tenant: who gets through, gets through so."""
NOBODY, STRANGER = "nobody", "stranger"
_BATCH = 40
_NEVER = "-never"
"""What a tenant's name ends with that never was."""
SLOWER = 4.0
"""How much longer the fastest call about somebody else's row may take than the fastest about a row
that never was, and half a millisecond: coarser than what an attacker measures over days, fine
enough for work that is done before the tenant is looked at."""


def must_be_known(chosen: list[Function]) -> None:
    """Raises LookupError for parameters the wall has nothing to pass for."""
    unknown = [f"{p} of {f.name}" for f in chosen for p in f.unknown()]
    if unknown:
        raise LookupError(f"tell the wall (tests/wall/arguments.py) what these are: {unknown}")


class Campaign:
    """One world, one attacker, one victim."""

    def __init__(
        self, conn: Connection, *, thorough: bool, tell: Tell = lambda _: None,
        attacker: Tenant = ATTACKER, victim: Tenant = VICTIM,
    ) -> None:  # fmt: skip
        self._conn = conn
        self._thorough = thorough
        self._tell = tell
        self.attacker, self.victim = attacker, victim
        self.findings = Findings()
        self.roles: dict[str, str] = {}
        self.views: list[str] = []
        self.functions: list[Function] = []
        self._others = ""
        self._random = random.Random(4)
        tag = secrets.token_hex(4)
        self._names = {r: f"wall_{tag}_{r}" for r in (*LADDER, ALL, NOBODY, STRANGER)}

    # -- before ----------------------------------------------------------------------------------

    def prepare(self) -> None:
        """World, harness, roles. Raises LookupError when something of the schema is unknown."""
        conn = self._conn
        world.build(conn)
        missing = world.unfilled(conn)
        if missing:
            raise LookupError(f"tell the wall (tests/wall/world.py) how to fill {missing}")
        self.functions = functions(conn)
        must_be_known(self.functions)
        self._make_roles()
        extra = {tenant.name: self._positions(tenant) for tenant in TENANTS}
        world.learn_ids(conn)
        self._install()
        self._store = Store(conn, extra)
        self._others = self._value("select wall.others(%s) as x", self.attacker.name)
        self._secrets = Secrets([t for t in TENANTS if t is not self.attacker])
        self._ghosts = {
            i: str(uuid.UUID(int=self._random.getrandbits(128))) for i in self.victim.ids
        }
        self._ghosts[self.victim.mark] = "mkghos"
        if self.victim.name:
            self._ghosts[self.victim.name] = self.victim.name + _NEVER
        self.arm()

    def arm(self) -> None:
        """Find the arguments for the functions chosen."""
        self._cases = {
            f.name: self._store.cases(f, self.victim, self.attacker) for f in self.functions
        }
        self._own = {
            f.name: self._store.cases(f, self.attacker, self.attacker) for f in self.functions
        }

    def _make_roles(self) -> None:
        run = self._conn.execute
        for role, name in self._names.items():
            run(sql.SQL("create role {}").format(sql.Identifier(name)))
            member = LADDER if role in (ALL, NOBODY) else (role,) if role in LADDER else ()
            for group in member:
                run(sql.SQL("grant {} to {}").format(
                    sql.Identifier(f"bpm_{group}"), sql.Identifier(name)))  # fmt: skip
            capability = role if role in LADDER else "admin"
            if role != NOBODY:
                run("select bpm.grant_access(%s, %s, %s)", [name, self.attacker.name, capability])
            self.roles[role] = name
        owner = self._names[ALL] + "_of_victim"
        run(sql.SQL("create role {}").format(sql.Identifier(owner)))
        for group in LADDER:
            run(sql.SQL("grant {} to {}").format(
                sql.Identifier(f"bpm_{group}"), sql.Identifier(owner)))  # fmt: skip
        for tenant in TENANTS:
            if tenant is not self.attacker:
                run("select bpm.grant_access(%s, %s, 'admin')", [owner, tenant.name])
        self.victims_role = owner

    def drop_roles(self) -> None:
        """Take the roles away again: they belong to the whole server."""
        for name in (*self._names.values(), self._names[ALL] + "_of_victim"):
            with contextlib.suppress(psycopg.Error):
                self._conn.execute(sql.SQL("drop owned by {}").format(sql.Identifier(name)))
                self._conn.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))

    def _positions(self, tenant: Tenant) -> dict[str, str]:
        """Positions that the pickers gave the tenant; what they claimed is undone."""
        found = {}
        with self._conn.transaction(force_rollback=True):
            for name, call in {
                "task_positions": "bpm.claim_tasks_at('w', array[%(m)s || '-work', %(m)s || '-i1'],"
                " p_tenant_id => %(t)s)",
                "command_positions": "bpm.claim_commands_at('w', p_tenant_id => %(t)s)",
                "tick_positions": "bpm.tick(p_tenant_id => %(t)s)",
            }.items():
                found[name] = self._value(
                    f"select positions::text as x from {call}", m=tenant.mark, t=tenant.name
                )
        return found

    def _install(self) -> None:
        rows = self._conn.execute(
            "select c.oid::int8 as oid, c.relname as name, c.relispartition as part,"
            " exists (select from pg_attribute a where a.attrelid = c.oid"
            "         and a.attname = 'tenant_id' and not a.attisdropped) as tenants"
            "  from pg_class c where c.relnamespace = 'bpm_core'::regnamespace"
            "   and c.relkind in ('r', 'p') order by c.relname"
        ).fetchall()
        hashes = []
        for row in rows:
            if not row["part"]:
                where = "true"
                if row["tenants"]:
                    where = "t.tenant_id <> p_tenant"
                elif row["name"] == "tenant_grant":
                    where = "t.tenant_pattern <> p_tenant"
                hashes.append(
                    "coalesce((select string_agg(t::text, '' order by t::text)"
                    f" from bpm_core.{row['name']} t where {where}), '')"
                )
        text = Path(__file__).with_name("harness.sql").read_text(encoding="utf-8")
        text = text.replace("OIDS", ",".join(str(row["oid"]) for row in rows))
        self._conn.execute(sql.SQL(text.replace("HASHES", " || ".join(hashes))))
        self.views = [
            row["name"]
            for row in self._conn.execute(
                "select c.relname as name from pg_class c where c.relkind in ('v', 'm')"
                " and c.relnamespace = 'bpm'::regnamespace and c.relname <> 'schema_migration'"
                " order by 1"
            )
        ]

    # -- the series ------------------------------------------------------------------------------

    def storm(self) -> None:
        """All series, one after the other."""
        series: tuple[tuple[str, Callable[[], None]], ...] = (
            ("own rows: the arguments are right", self._control),
            ("rows of the victim, under the own tenant", self._foreign_ids),
            ("the victim's tenant", self._foreign_tenant),
            ("session authorization", self._logins),
            ("forged settings", self._settings),
            ("shadowed names", self._shadows),
            ("definer functions of callers", self._definers),
            ("views", self._views),
        )
        for name, one in series:
            before = sum(self.findings.counts.values())
            one()
            made = sum(self.findings.counts.values()) - before
            self._tell(f"{name}: {made} calls, {len(self.findings.leaks)} leaks so far")

    def _control(self) -> None:
        """The attacker's own rows: somewhere each function succeeds, or it was not tried at all."""
        calls = [
            Call("own", f.name, ALL, self.attacker.name, f.call(case, self.attacker.name))
            for f in self.functions
            for case in self._own[f.name]
        ]
        codes = defaultdict(set)
        self._baseline: dict[str, str] = {}
        for call, outcome in self.make(calls):
            self._baseline.setdefault(call.function, outcome.code)
            codes[call.function].add(outcome.code)
        for f in self.functions:
            # Refused whatever is passed: a matter of admins of the tenant without a name.
            if OK not in codes[f.name] and codes[f.name] != {"BP403"}:
                call = Call("own", f.name, ALL, self.attacker.name, "")
                self.findings.odd(call, Outcome("-"), "never succeeds: the wall tries it wrongly")

    def _foreign_ids(self) -> None:
        """Ids, codes and keys of the victim, with the attacker's tenant."""
        for role in self.roles:
            calls = [
                Call("ids", f.name, role, self.attacker.name, f.call(case, self.attacker.name))
                for f in self.functions
                for case in self._few(self._cases[f.name], role)
            ]
            if role == ALL:
                self._with_ghosts(calls)
            else:
                for _ in self.make(calls):
                    pass

    def _foreign_tenant(self) -> None:
        """The victim's tenant by its name, and by names like it."""
        for role in self.roles:
            calls = [
                Call("tenant", f.name, role, self.victim.name, f.call(case, self.victim.name))
                for f in self.functions
                if f.has_tenant
                for case in self._few(self._cases[f.name], role)
            ]
            if role == ALL:
                self._with_ghosts(calls)
            made = self.make(calls)
            for call, outcome in made:
                if outcome.code not in ("BP403", DENIED):
                    self.findings.leak(call, "the victim's tenant was entered", outcome.said)
        likes = [None, self.attacker.name + "%", "%", self.attacker.name + " ", "WALL-B",
                 self.victim.name + "\t", "x" * 100_000]  # fmt: skip
        calls = [
            Call("tenant", f.name, ALL, str(name)[:50], f.call(self._own[f.name][0], name))
            for f in self.functions
            if f.has_tenant
            for name in likes
        ]
        for call, outcome in self.make(calls):
            if outcome.code not in ("BP403", "BP400"):
                self.findings.leak(call, "a tenant that is none was entered", outcome.said)

    def _logins(self) -> None:
        """As the login itself, and trying to become somebody else."""
        with self._as(ALL, login=True):
            calls = [
                Call("login", f.name, ALL, tenant, f.call(self._cases[f.name][0], tenant))
                for f in self.functions
                for tenant in (self.attacker.name, self.victim.name)
                if f.has_tenant
            ]
            for call, outcome in self._run(calls):
                self._judge(call, outcome)
                if call.tenant == self.victim.name and outcome.code != "BP403":
                    self.findings.leak(call, "the victim's tenant was entered", outcome.said)
        with psycopg.connect(self._conn.info.dsn, autocommit=True) as conn:
            conn.execute(sql.SQL("set session authorization {}").format(
                sql.Identifier(self._names[ALL])))  # fmt: skip
            for attempt in (
                f"set role {self.victims_role}", "set role bpm_owner", "set role postgres",
                f"select set_config('role', '{self.victims_role}', false)",
                "create function pg_temp.f() returns int language sql"
                f" set role = '{self.victims_role}' as 'select 1'; select pg_temp.f()",
                f"grant {self.victims_role} to {self._names[ALL]}",
                "table bpm_core.task_instance", "select bpm_core.visible_tenants()",
                "insert into bpm_core.tenant_grant values ('x', 'y', 'admin', 'x', now())",
                "alter function bpm.ready(text) owner to current_user",
                "create view bpm.mine as select 1", "set session_replication_role = replica",
            ):  # fmt: skip
                call = Call("login", "", ALL, None, attempt)
                self._count("login")
                try:
                    conn.execute(sql.SQL(attempt))
                except psycopg.Error as error:
                    if error.sqlstate not in (DENIED, "22023", "0LP01"):
                        self.findings.odd(call, Outcome(error.sqlstate or "?", str(error)), "code")
                else:
                    self.findings.leak(call, "this should be refused")

    def _settings(self) -> None:
        """Every setting a session may make: the outcome is as without."""
        if self._thorough:
            for name, value in (shadows.ALONE | shadows.TOGETHER).items():
                self._under({name: value}, name)
        self._under(shadows.TOGETHER, "many at once")

    def _shadows(self) -> None:
        """Names of ours and of PostgreSQL, defined again where a session would look first."""
        conn = self._conn
        with conn.transaction(force_rollback=True):
            for statement in shadows.objects(conn, list(self.roles.values())):
                conn.execute(sql.SQL(statement))
            for path in shadows.PATHS:
                self._under({"search_path": path}, f"search_path {path}")

    def _definers(self) -> None:
        """Functions with the rights of the victim's admin, and of the owner of everything."""
        conn = self._conn
        with conn.transaction(force_rollback=True):
            conn.execute(
                "create function wall.lent(p_call text) returns text language plpgsql"
                " security definer as $$ declare v text; begin"
                " execute 'select string_agg(x::text, '','') from (' || p_call || ') x' into v;"
                " return v; end $$"
            )
            conn.execute(sql.SQL("alter function wall.lent(text) owner to {}").format(
                sql.Identifier(self.victims_role)))  # fmt: skip
            calls = [
                Call(
                    "definer", f.name, ALL, self.victim.name,
                    "select wall.lent("
                    + literal(f.call(self._cases[f.name][0], self.victim.name)) + ")",
                )
                for f in self.functions if f.has_tenant
            ]  # fmt: skip
            for call, outcome in self.make(calls):
                if outcome.code != "BP403":
                    self.findings.leak(call, "a lent function opened the tenant", outcome.said)

    def _views(self) -> None:
        """Each view, as each role, and with functions in WHERE that tell what they are shown."""
        for view in self.views:
            for role in self.roles:
                ways = shadows.reads(view, self.attacker, self.victim)
                for how in ways if role == ALL or self._thorough else ("all", "function"):
                    self._read(view, role, how, ways[how])

    def _read(self, view: str, role: str, how: str, text: str) -> None:
        call = Call("views", view, role, None, text)
        self._count("views")
        with self._as(role):
            try:
                with self._conn.transaction():
                    # Without index conditions everything is a filter, and filters have an order.
                    for kind in ("index", "bitmap", "indexonly"):
                        self._conn.execute(sql.SQL(f"set local enable_{kind}scan = off"))
                    rows = self._conn.execute(sql.SQL(text)).fetchall()
            except psycopg.Error as error:
                if error.sqlstate != DENIED or role != STRANGER:
                    self.findings.odd(call, Outcome(error.sqlstate or "?", str(error)), "code")
                self._leaked(call, str(error))
                return
            heard = [r["said"] for r in self._conn.execute("select said from wall.heard()")]
        if role == STRANGER:
            self.findings.leak(call, "read without membership")
        if role == NOBODY and rows and how != "count":
            self.findings.leak(call, "read without a grant", str(rows[0]))
        said = "\n".join([*(str(row) for row in rows), *heard])
        self._leaked(call, said)
        for row in rows:
            if "tenant_id" in row and row["tenant_id"] != self.attacker.name:
                self.findings.leak(call, "a row of another tenant", str(row))
        if role == ALL and how == "all" and not rows and view not in world.EMPTY:
            self.findings.odd(call, Outcome(OK), "shows nothing of the own tenant: fill the world")

    def own_cases(self, function: Function) -> list[Values]:
        """Arguments from the attacker's own rows."""
        return self._own[function.name]

    # -- how a call is made ----------------------------------------------------------------------

    def _few(self, cases: list[Values], role: str) -> list[Values]:
        """All cases for whoever may do most; the first for the others, unless thorough."""
        return cases if role == ALL or self._thorough else cases[:1]

    def _under(self, values: dict[str, str], name: str) -> None:
        """Own and foreign calls under settings; each ends as it does without."""
        chosen = []
        expected: list[str | None] = []
        for f in self.functions:
            chosen.append(self._call_under(name, f, self._own[f.name][0], self.attacker.name))
            expected.append(self._baseline[f.name])
            if f.has_tenant:
                chosen.append(self._call_under(name, f, self._cases[f.name][0], self.victim.name))
                expected.append("BP403")
        with self._as(ALL), self._conn.transaction(force_rollback=True):
            for setting, value in values.items():
                try:
                    with self._conn.transaction():
                        self._conn.execute(sql.SQL(f"set local {setting} = {value}"))
                except psycopg.errors.InsufficientPrivilege:
                    self._count("settings")
            made = self._run(chosen)
        for (call, outcome), code in zip(made, expected, strict=True):
            self._judge(call, outcome)
            if outcome.code != code:
                self.findings.odd(call, outcome, f"without the setting it ends in {code}")

    def _call_under(self, name: str, f: Function, case: Values, tenant: str) -> Call:
        return Call("settings", f.name, ALL, tenant, f.call(case, tenant), name)

    def _with_ghosts(self, calls: list[Call]) -> None:
        """Make the calls, and each again about rows that never were: nothing tells them apart."""
        twins = [self._twin(call) for call in calls]
        back = {ghost: real for real, ghost in self._ghosts.items()}
        back.pop(self.victim.name + _NEVER, None)
        back[_NEVER] = ""  # however the name before it was quoted
        real_times, ghost_times = defaultdict(list), defaultdict(list)
        pairs = zip(self.make(calls), self.make(twins), strict=True)
        for (call, outcome), (twin, ghost) in pairs:
            if comparable(outcome, back) != comparable(ghost, back):
                self.findings.leak(
                    call, "tells whether it exists",
                    f"{comparable(outcome, back)} against {comparable(ghost, back)}",
                )  # fmt: skip
            real_times[call.function].append(outcome.micros)
            ghost_times[twin.function].append(ghost.micros)
        for function, times in real_times.items():
            real, never = min(times), min(ghost_times[function])
            if len(times) > 2 and real > SLOWER * never + 500:
                call = Call("timing", function, ALL, None, "")
                self.findings.leak(call, f"takes {real} us, {never} us for what never was")

    def _twin(self, call: Call) -> Call:
        text = UUID.sub(lambda m: self._ghosts.get(m.group(0), m.group(0)), call.text)
        text = text.replace(self.victim.mark, self._ghosts[self.victim.mark])
        tenant = call.tenant
        if self.victim.name and tenant == self.victim.name:
            ghost = self._ghosts[self.victim.name]
            text = text.replace(literal(self.victim.name), literal(ghost))
            tenant = ghost
        return Call(call.series + " (ghost)", call.function, call.role, tenant, text)

    def make(self, calls: list[Call]) -> list[tuple[Call, Outcome]]:
        """Calls as the role each names; judged."""
        made: list[tuple[Call, Outcome]] = []
        roles = {call.role for call in calls}
        for role in roles:
            with self._as(role):
                made += self._run([call for call in calls if call.role == role])
        for call, outcome in made:
            self._judge(call, outcome)
        return made

    def _run(self, calls: list[Call]) -> list[tuple[Call, Outcome]]:
        made = []
        for first in range(0, len(calls), _BATCH):
            some = calls[first : first + _BATCH]
            rows = self._conn.execute(
                "select * from wall.attempts(%s::pg_catalog.text[], %s::pg_catalog.text,"
                " %s::pg_catalog.text)",
                [[call.text for call in some], self.attacker.name, self._others],
            ).fetchall()
            for call, row in zip(some, rows, strict=True):
                row.pop("n")
                made.append((call, Outcome(**row)))
                self._count(call.series)
        return made

    def _judge(self, call: Call, outcome: Outcome) -> None:
        """What must be so after every call, whatever it was."""
        if outcome.changed:
            self.findings.leak(call, "changed rows of others", outcome.said)
        self._leaked(call, outcome.said)
        if not code_is_expected(outcome.code):
            self.findings.odd(call, outcome, "code")
        may = call.role in (ALL, NOBODY) or (
            call.role in LADDER and self._granted.get(call.function, {}).get(call.role, False)
        )
        if (outcome.code == DENIED) == may and call.series != "definer":
            self.findings.odd(call, outcome, "may call" if may else "may not call")
        if call.role == NOBODY and outcome.code == OK and call.function not in _OF_NO_TENANT:
            self.findings.leak(call, "works without a grant", outcome.said)

    @property
    def _granted(self) -> dict[str, dict[str, bool]]:
        if not hasattr(self, "_grants"):
            rows = self._conn_as_installer(
                "select function_name, reader, worker, operator, true as admin"
                " from bpm_core.function_grant"
            )
            self._grants = {row["function_name"]: row for row in rows}
        return self._grants

    def _conn_as_installer(self, query: str) -> list[dict[str, Any]]:
        self._conn.execute("reset role")
        return self._conn.execute(sql.SQL(query)).fetchall()

    def _leaked(self, call: Call, said: str) -> None:
        found = self._secrets.in_text(said, call.text)
        if found:
            self.findings.leak(call, f"shows {found!r}", said)

    def _count(self, series: str) -> None:
        self.findings.counts[series] = self.findings.counts.get(series, 0) + 1

    def _value(self, query: str, *given: Any, **named: Any) -> Any:
        row = self._conn.execute(sql.SQL(query), named or given).fetchone()
        assert row is not None
        return row["x"]

    @contextlib.contextmanager
    def _as(self, role: str, *, login: bool = False) -> Iterator[None]:
        what = "session authorization" if login else "role"
        self._conn.execute(sql.SQL(f"set {what} {{}}").format(sql.Identifier(self._names[role])))
        try:
            yield
        finally:
            self._conn.execute(sql.SQL(f"reset {what}"))


_OF_NO_TENANT = {"api_version", "tenants_in_turn", "tenants_with_work"}

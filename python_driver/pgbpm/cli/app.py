"""What every command gets: the configuration, the tenant, and the way to the database."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click
import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from pgbpm.cli.hints import denied
from pgbpm.config import Config
from pgbpm.db import Connection, Database, open_database
from pgbpm.errors import PgbpmError
from pgbpm.jsontext import NotJson
from pgbpm.sealing import Variables, Vault

NULL = object()
"""An argument of :meth:`App.call` that is null, not left out."""
_NOBODY = "00000000-0000-0000-0000-000000000000"
_NOT_GRANTED = "BP403"

decrypt_option = click.option(
    "--decrypt", is_flag=True, help="Show encrypted values in clear (needs their keys)."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


@dataclass(frozen=True, slots=True)
class App:
    """The object of a command's context (``@pass_app``)."""

    config: Config
    tenant: str = ""

    @contextlib.contextmanager
    def database(self) -> Iterator[Database]:
        """The database with the schema this version needs (see :func:`pgbpm.db.open_database`)."""
        with open_database(self.config) as database:
            yield database

    @contextlib.contextmanager
    def connect(self) -> Iterator[Connection]:
        """One autocommit connection with dict rows."""
        with self.database() as database, database.connect() as conn:
            yield conn

    @property
    def vault(self) -> Vault:
        """What encrypts and decrypts variables, as configured."""
        return Vault(self.config.encryption)

    def seal(self, variables: dict[str, Any], once: str | None = None) -> dict[str, Any]:
        """A copy in which what the configuration declares is encrypted: before it leaves us.

        ``once``: what makes the call idempotent; the same then gives the same.
        """
        try:
            sealed: dict[str, Any] = self.vault.seal(self.tenant, variables, once=once)[0]
        except NotJson as error:
            raise PgbpmError(f"a variable cannot be stored: {error}") from None
        return sealed

    def unseal(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """A copy for people, decrypted; what cannot be decrypted says why."""
        opened = self.vault.open(self.tenant, variables).variables
        if isinstance(opened, Variables):
            return {
                **opened,
                **{n: f"(cannot be decrypted: {f.why})" for n, f in opened.faults.items()},
            }
        return opened

    def call(self, conn: Connection, function: str, **arguments: Any) -> list[dict[str, Any]]:
        """All rows of ``bpm.<function>`` called with named arguments and the tenant.

        Dicts and lists of dicts are passed as jsonb; arguments that are None are left out, so
        that the function's default counts; :data:`NULL` is passed as null.
        """
        given = {
            name: None if value is NULL else _adapt(value)
            for name, value in arguments.items()
            if value is not None
        }
        given.setdefault("p_tenant_id", self.tenant)
        query = sql.SQL("select * from {}({})").format(
            sql.Identifier("bpm", function),
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
                for name in given
            ),
        )
        try:
            return list(conn.execute(query, given))
        except psycopg.errors.InsufficientPrivilege as error:
            raise denied(conn, function, error) from error

    def warn_if_not_granted(self, conn: Connection) -> None:
        """Say on standard error that a list is empty because this login may not see the tenant."""
        try:
            self.call(conn, "get_process", p_process_instance_id=_NOBODY)
        except psycopg.Error as error:
            if error.sqlstate == _NOT_GRANTED:
                click.echo(
                    f"warning: tenant {self.tenant!r} is unknown or not granted:"
                    f" {error.diag.message_primary}",
                    err=True,
                )
        except PgbpmError as error:
            click.echo(f"warning: {error.message}", err=True)


def _adapt(value: Any) -> Any:
    if isinstance(value, dict) or (
        isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
    ):
        return Jsonb(value)
    return value


pass_app = click.make_pass_decorator(App)

"""Errors of the driver, each with what happened, where, and what to do.

Exit codes of the command line (``pgbpm``):

====  =============================================================
code  meaning
====  =============================================================
0     done
1     refused or failed: an engine error (SQLSTATE class BP) or a
      driver error without a code of its own
2     wrong usage of the command line, or faulty configuration
3     no database server: cannot be reached, started or stopped
4     the schema is not what this version needs (pending, edited or
      unknown migrations)
130   interrupted
====  =============================================================
"""

from __future__ import annotations


class PgbpmError(Exception):
    """Base of all errors the driver raises itself.

    ``code`` is a SQLSTATE of class BP as the database uses them, ``hint`` says what to do,
    ``exit_code`` is what the command line ends with.
    """

    code = "BP400"
    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class ConfigError(PgbpmError):
    """A configuration value is unknown or malformed."""

    code = "BP422"
    exit_code = 2


class ServerError(PgbpmError):
    """No PostgreSQL server could be found, started, reached or stopped."""

    code = "BP503"
    exit_code = 3


class MigrationError(PgbpmError):
    """The schema of the database and the migrations of this package do not fit."""

    code = "BP409"
    exit_code = 4


class PendingMigrationsError(MigrationError):
    """Migrations are pending and nobody may apply them (``migrate_on_start = false``)."""

    code = "BP503"

"""Where the SQL of this package lies: inside the installed package, or in a checkout."""

from __future__ import annotations

from pathlib import Path

from pgbpm.errors import PgbpmError

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[1]


def sql_dir() -> Path:
    """The folder ``sql/``: the source of truth, one folder per room."""
    return _find("sql")


def migrations_dir() -> Path:
    """The folder ``migrations/``: what databases run."""
    return _find("migrations")


def _find(name: str) -> Path:
    for place in (_PACKAGE / "_data" / name, _CHECKOUT / name):
        if place.is_dir():
            return place
    raise PgbpmError(f"the package lacks its SQL ({name})", hint="install pgbpm again")

"""pgbpm: drive a business process engine that lives inside PostgreSQL.

Every decision is taken by a function of the database schema ``bpm``; this package only
calls those functions, performs side effects after commit, runs an embedded server where no
PostgreSQL is at hand, and applies migrations.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]

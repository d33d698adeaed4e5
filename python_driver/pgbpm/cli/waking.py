"""Tells sleeping runners that there may be work, after a call that made some."""

from __future__ import annotations

import contextlib

import psycopg

from pgbpm.db import Connection
from pgbpm.wakeup import CHANNEL


def wake_runners(conn: Connection) -> None:
    """Send one notification, in a transaction of its own. A failure costs a little time only."""
    with contextlib.suppress(psycopg.Error):
        conn.execute("select pg_notify(%s, '')", [CHANNEL])

"""The way from a runner to its database: pooled connections, and direct ones for wake-ups.

A pooler in transaction mode gives each transaction any session of the server: prepared
statements, LISTEN and session locks do not work there. The runner finds out by itself (the server
process that answers is not the one the connection began with) and does without; wake-ups go over
connections of their own to ``database.listen_url``, if there is one.
"""

from __future__ import annotations

import logging
import weakref

import psycopg
from psycopg.rows import dict_row

from pgbpm.db import APPLICATION, AsyncConnection, AsyncPool, Database

logger = logging.getLogger("pgbpm.runner")


class Way:
    """The connections of one runner."""

    def __init__(self, database: Database) -> None:
        self._config = database.config.database
        self._url = database.url
        self.pooler: bool | None = self._config.pooler
        """Whether a pooler stands between; None before the first connection."""
        self._ours: dict[int, weakref.ref[AsyncConnection]] = {}
        self.pool: AsyncPool = database.async_pool(
            "run", reconnect_timeout=0.0, configure=self._configure
        )

    async def _configure(self, connection: AsyncConnection) -> None:
        if self.pooler is None:
            self.pooler = await leads_through_pooler(connection)
        connection.prepare_threshold = None if self.pooler else 0
        self._remember(connection)

    def is_ours(self, pid: int) -> bool:
        """Whether a server process serves a connection of this runner."""
        known = self._ours.get(pid)
        one = known() if known is not None else None
        return one is not None and not one.closed

    def _remember(self, connection: AsyncConnection) -> None:
        self._ours = {pid: one for pid, one in self._ours.items() if one() is not None}
        self._ours[connection.info.backend_pid] = weakref.ref(connection)

    def listens(self) -> bool:
        """Whether there is a direct way to listen; tells if there is none."""
        if not self.pooler:
            return True
        if self._config.listen_url:
            logger.info("through a pooler; wake-ups come over database.listen_url")
            return True
        logger.info(
            "through a pooler: statements are not prepared, and new work is found by polling;"
            " database.listen_url gives wake-ups a direct connection"
        )
        return False

    async def direct(self, role: str) -> AsyncConnection:
        """A connection of its own with a session of its own.

        Raises ``psycopg.Error``, also if a pooler is in the way.
        """
        connection = await AsyncConnection.connect(
            self._config.listen_url or self._url,
            autocommit=True,
            row_factory=dict_row,
            application_name=f"{APPLICATION}/{role}",
            connect_timeout=self._config.connect_timeout_s,
            prepare_threshold=None,
        )
        self._remember(connection)
        if self._config.listen_url and await leads_through_pooler(connection):
            await connection.close()
            logger.warning("database.listen_url leads through a pooler: no wake-ups")
            raise psycopg.OperationalError("a pooler is in the way")
        return connection


async def leads_through_pooler(connection: AsyncConnection) -> bool:
    """Whether the process that answers is another one than the connection was made with."""
    cursor = await connection.execute("select pg_backend_pid() as pid", prepare=False)
    row = await cursor.fetchone()
    return row is None or row["pid"] != connection.info.backend_pid

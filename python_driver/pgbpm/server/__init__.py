"""The embedded PostgreSQL server: found, initialised, started, watched and stopped.

:class:`EmbeddedServer` is the one of a project folder, :func:`ephemeral_server` a throw-away one.
"""

from __future__ import annotations

from pgbpm.server.binaries import MINIMUM_MAJOR, Binaries, find_binaries
from pgbpm.server.cluster import EmbeddedServer, ServerStatus, ephemeral_server

__all__ = [
    "MINIMUM_MAJOR",
    "Binaries",
    "EmbeddedServer",
    "ServerStatus",
    "ephemeral_server",
    "find_binaries",
]

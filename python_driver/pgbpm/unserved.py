"""What a runner does not serve, said aloud: tasks without a handler, a login without a tenant."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import psycopg

from pgbpm.errors import PgbpmError
from pgbpm.gateway import MOST_UNSERVED, Gateway

logger = logging.getLogger("pgbpm.runner")

_FIRST_S = 2.0
_PAUSE_S = 30.0


class Unserved:
    """Warns once per tenant and type of ready tasks that no handler here takes."""

    def __init__(self, gateway: Gateway, types: Sequence[str]) -> None:
        self._gateway = gateway
        self._types = list(types)
        self._told: set[tuple[str, str]] = set()

    async def look(self, tenants: Sequence[str]) -> None:
        """Look in these tenants now. What the database refuses to say is not said."""
        for tenant in tenants:
            try:
                rows = await self._gateway.unserved(tenant, self._types)
            except psycopg.Error as error:
                logger.debug("tasks without a handler were not counted: %s", error)
                return
            for row in rows:
                self._tell(tenant, str(row["task_type"]), int(row["ready"]))

    async def watch(self, idle: Callable[[], bool], tenants: Callable[[], Sequence[str]]) -> None:
        """Look now and then, only while there is nothing else to do, until cancelled."""
        await asyncio.sleep(_FIRST_S)
        while True:
            if idle():
                await self.look(tenants())
            await asyncio.sleep(_PAUSE_S)

    def _tell(self, tenant: str, task_type: str, ready: int) -> None:
        if (tenant, task_type) in self._told:
            return
        self._told.add((tenant, task_type))
        count = f"{ready} or more" if ready >= MOST_UNSERVED else str(ready)
        logger.warning(
            "%s ready task%s of type %s %s no handler here%s",
            count, "" if ready == 1 else "s", task_type, "has" if ready == 1 else "have",
            f" (tenant {tenant})" if tenant else "",
            extra={"task_type": task_type, "tenant": tenant, "ready": ready},
        )  # fmt: skip


async def no_tenant(gateway: Gateway) -> PgbpmError:
    """The error of a login that may work for nobody."""
    role = await gateway.caller()
    error = PgbpmError(
        f"role {role} is granted worker for no active tenant",
        hint=f"an admin calls bpm.grant_access('{role}', '', 'worker') ('' is the tenant without a"
        " name); the role bpm_worker is needed too",
    )
    error.code = "BP403"
    return error

"""``pgbpm run``: a runner in the foreground."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pgbpm.cli.app import App, pass_app
from pgbpm.cli.output import emit_json
from pgbpm.db import Database
from pgbpm.loading import load_worker
from pgbpm.logs import configure_logs
from pgbpm.worker import Worker

if TYPE_CHECKING:
    from pgbpm.runner import Runner

logger = logging.getLogger("pgbpm.runner")


@click.command()
@click.option(
    "--app", "name", metavar="MODULE[:WORKER]", help="Handlers to run (default: none, only drive)."
)
@click.option("--tenant", "tenants", multiple=True, metavar="ID", help="Only this tenant (repeat).")
@click.option("--worker-name", metavar="NAME", help="Name of this runner (default: made up).")
@click.option("--until-idle", is_flag=True, help="End when nothing is due and nothing runs.")
@click.option(
    "--idle-grace", type=click.FloatRange(0), metavar="S", help="With --until-idle: wait for what "
    "falls due within S seconds (default: runner.idle_grace_s).",
)  # fmt: skip
@click.option("--log-json", is_flag=True, help="Logs as JSON lines.")
@click.option("--verbose", "-v", is_flag=True, help="Log every repeat, tick and delivery.")
@click.option(
    "--json", "as_json", is_flag=True, help="Counts as JSON at the end; implies --log-json."
)
@pass_app
def run(
    app: App,
    name: str | None,
    tenants: tuple[str, ...],
    worker_name: str | None,
    until_idle: bool,
    idle_grace: float | None,
    log_json: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Run handlers, send commands, fire timers: everything that happens outside of calls.

    Serves all tenants this login may work for, unless --tenant is given. As many runners as wanted
    may run at the same time. The first SIGTERM or SIGINT lets handlers end (runner.drain_seconds)
    and gives back what they have not finished; a second one exits at once (code 130), and what was
    under way is taken over when its leases run out.
    """
    configure_logs(as_json=log_json or as_json, verbose=verbose)
    worker = load_worker(name) if name else Worker()
    if idle_grace is not None:
        app = App(app.config.with_values("runner", idle_grace_s=idle_grace), app.tenant)
    parent = click.get_current_context().parent
    source = parent.get_parameter_source("tenant") if parent is not None else None
    if not tenants and source not in (None, ParameterSource.DEFAULT):
        tenants = (app.tenant,)
    with app.database() as database:
        runner = asyncio.run(
            _run(
                database,
                worker,
                tenants=list(tenants) or None,
                name=worker_name,
                until_idle=until_idle,
            )
        )
    if as_json:
        emit_json({"runner": runner.name, "counts": dict(sorted(runner.results.counts.items()))})
    if not runner.clean:
        logger.warning("handlers in threads did not end; leaving without them")
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


async def _run(database: Database, worker: Worker, **options: Any) -> Runner:
    from pgbpm.runner import Runner  # other commands begin sooner without it

    runner = Runner(database, worker, **options)
    loop = asyncio.get_running_loop()
    told = False

    def signalled(number: signal.Signals) -> None:
        nonlocal told
        if told:
            os._exit(130)
        told = True
        if not runner.away:  # else the runner says what becomes of it
            logger.info("%s: draining (again: exit at once)", number.name)
        runner.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled, number)
    gc.collect()
    gc.freeze()  # a full collection would pass over all modules, and nothing runs meanwhile: 15 ms
    await runner.run()
    return runner


COMMANDS = [run]

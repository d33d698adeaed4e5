"""Destinations, processes, commands; what became of them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pgbpm.config import DeliveryConfig
from pgbpm.delivery import Deliverer, Report
from pgbpm.worker import Worker
from tests.delivery_trial.cases import MODES, PROFILES, Case, expected
from tests.delivery_trial.receiver import Misbehaving
from tests.driver.runner_kit import HEAD, make_runner
from tests.support.database import TestDatabase

TIMEOUT_S = 1.0
LATE_S = 1.6
_BATCH = 500


def prepare(database: TestDatabase, receiver: Misbehaving, lease_s: float) -> None:
    """A destination and a process for each profile."""
    for name, profile in PROFILES.items():
        arguments = {"max_attempts": 20, **profile.arguments}
        if profile.asked:
            arguments["probe_url"] = receiver.url + arguments["probe_url"]
        given = "".join(f", p_{key} => %({key})s" for key in arguments)
        database.rows(
            "select bpm.register_destination(p_code => %(code)s, p_config => %(config)s::jsonb,"
            " p_lease => %(lease)s, p_backoff => '300 milliseconds',"
            f" p_breaker_threshold => 500{given})",
            {
                "code": name, "lease": f"{lease_s} seconds", **arguments,
                "config": json.dumps(
                    {"url": f"{receiver.url}/{name}", "timeout_seconds": TIMEOUT_S}
                ),
            },
        )  # fmt: skip
        database.rows(
            "select * from bpm.deploy_bpmn(p_xml => %s)",
            [
                f"""{HEAD}<process id="{name}" isExecutable="true"><startEvent id="start"/>
            <sendTask id="send" bpm:destination="{name}"/><endEvent id="end"/>
            <sequenceFlow id="f1" sourceRef="start" targetRef="send"/>
            <sequenceFlow id="f2" sourceRef="send" targetRef="end"/></process></definitions>"""
            ],
        )


def order(database: TestDatabase, cases: Sequence[Case]) -> None:
    """One command for each case; ``n`` counts from 0."""
    for first in range(0, len(cases), _BATCH):
        items = [
            {"code": case.profile, "variables": {"n": n, "mode": case.mode, "kill": case.kill}}
            for n, case in enumerate(cases[first : first + _BATCH], first)
        ]
        database.rows(
            "select count(*) from bpm.start_processes(p_items => %s::jsonb) s"
            " where s.outcome = 'Done'",
            [json.dumps(items)],
        )


def mixed(count: int, failing: float, seed: int = 1) -> list[Case]:
    """Commands to all profiles; this share of them is treated badly, in all ways alike."""
    chance = random.Random(seed)
    bad = [mode for mode in MODES if mode != "ok"]
    names = list(PROFILES)
    return [
        Case(names[n % len(names)], chance.choice(bad) if chance.random() < failing else "ok")
        for n in range(count)
    ]


def unsettled(database: TestDatabase) -> int:
    """Commands that still move by themselves."""
    return int(
        database.value(
            """
            select count(*) from bpm.command c
             where c.state in ('Pending', 'Sending', 'Reconciling')
                or c.state = 'Unknown' and (c.sent_again_at is not null or c.asked_at is not null)
            """
        )
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the commands."""

    states: Counter[str]
    lost: int
    """Neither sent, failed nor listed as unknown; or called Sent without an effect."""
    doubled_where_keyed: int
    unlisted: int
    """Unknown, but not listed with a reason."""
    wrong: list[str]
    """Cases that did not end as the table says (only where nobody was killed at random)."""


def judge(
    database: TestDatabase, receiver: Misbehaving, cases: Sequence[Case], *, by_table: bool
) -> Verdict:
    """Compare what the engine says with what the receiver saw."""
    rows = database.rows(
        "select c.state, c.destination_code, (c.payload ->> 'n')::int as n from bpm.command c"
    )
    listed = database.rows(
        "select u.command_id from bpm.unknown_command u where u.reason is not null"
    )
    effects = receiver.book.effects
    states: Counter[str] = Counter(row["state"] for row in rows)
    lost = len(cases) - len(rows)
    wrong = []
    for row in rows:
        case = cases[row["n"]]
        seen = effects[row["destination_code"], row["n"]]
        if row["state"] not in {"Sent", "Failed", "Unknown"} or (
            row["state"] == "Sent" and not seen
        ):
            lost += 1
        if by_table and (row["state"], seen) != expected(case):
            wrong.append(f"{case}: {row['state']} with {seen} effects, not {expected(case)}")
    doubled = sum(times > 1 for (name, _), times in effects.items() if PROFILES[name].honours_keys)
    return Verdict(states, lost, doubled, states["Unknown"] - len(listed), wrong)


# -- each case, with a runner that dies for one command at a time ----------------------------------


class Mortal(Deliverer):
    """Dies at the moment the payload names, at the first attempt of a command."""

    def __init__(self, config: DeliveryConfig, receiver: Misbehaving) -> None:
        super().__init__(config)
        self._at: dict[tuple[str, str], threading.Event] = {}
        receiver.on_request = lambda command_id: self._reached(command_id, "during")
        receiver.on_effect = lambda command_id: self._reached(command_id, "accepted")

    def _reached(self, command_id: str, moment: str) -> None:
        if (reached := self._at.get((command_id, moment))) is not None:
            reached.set()

    async def send(
        self, command: Mapping[str, Any], time_left: float, stopped: asyncio.Event,
        *, tenant: str = "", now: float | None = None,
    ) -> Report:  # fmt: skip
        kill = command["payload"]["kill"]
        if command["attempt"] > 1 or kill == "never":
            return await super().send(command, time_left, stopped, tenant=tenant, now=now)
        if kill == "before":
            raise RuntimeError("died before the request left")
        reached = threading.Event()
        self._at[command["command_id"], kill] = reached
        sending = asyncio.ensure_future(
            super().send(command, time_left, stopped, tenant=tenant, now=now)
        )
        if kill != "answered":
            while not (reached.is_set() or sending.done()):  # noqa: ASYNC110  set by a thread
                await asyncio.sleep(0.002)
            sending.cancel()
        await asyncio.wait({sending})
        raise RuntimeError(f"died: {kill}")


def play_cases(database: TestDatabase, cases: Sequence[Case]) -> tuple[Verdict, Misbehaving]:
    """Every case through one runner, until nothing moves by itself any more."""
    receiver = Misbehaving(LATE_S)
    with receiver.serving():
        prepare(database, receiver, lease_s=2.5)
        order(database, cases)
        asyncio.run(_run(database, receiver))
    return judge(database, receiver, cases, by_table=True), receiver


async def _run(database: TestDatabase, receiver: Misbehaving, seconds: float = 90.0) -> None:
    config = DeliveryConfig(allow_private_addresses=True, concurrency=100)
    runner = make_runner(database, Worker(), until_idle=False, delivery=config)
    runner.outgoing.deliverer = Mortal(config, receiver)
    serving = asyncio.create_task(runner.run())
    deadline = time.monotonic() + seconds
    while await asyncio.to_thread(unsettled, database):
        assert time.monotonic() < deadline, "commands still move"
        await asyncio.sleep(0.1)
    runner.stop()
    await asyncio.wait_for(serving, 30)

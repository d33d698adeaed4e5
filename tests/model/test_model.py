"""Random processes, random interleavings, and a reference that says where each must stand.

``PGBPM_MODEL_SEED`` repeats what a failing run printed; what threads do to each other may differ.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import psycopg
import pytest
from tests.model import generator
from tests.model.driver import Crowd
from tests.model.graph import Graph
from tests.model.reference import Disagreement
from tests.races import kit
from tests.support.database import TestDatabase

SEED = os.environ.get("PGBPM_MODEL_SEED") or (os.urandom(4).hex() if kit.NIGHTLY else "usual")
BATCHES = kit.sized(2, 20)
GRAPHS = 100
INSTANCES = 2
SIZE = 7
SEARCH = 60.0
"""Seconds to look for smaller graphs that fail as well."""


def drawn(
    seed: str, count: int = GRAPHS, size: int = SIZE, of: frozenset[str] = generator.LANDED
) -> list[Graph]:
    """The graphs of a seed, of some kinds of blocks or of all."""
    code = "m" + "".join(c for c in seed if c.isalnum())
    return [generator.draw(f"{code}x{n}", f"{seed}/{n}", size, of) for n in range(count)]


def run(database: TestDatabase, seed: str, graphs: list[Graph], *, kills: bool = False) -> Crowd:
    """Run the graphs to their end, comparing on the way; the audit in the end."""
    crowd = Crowd(database, graphs, seed)
    try:
        crowd.run(INSTANCES, kills=kills)
    finally:
        crowd.close()
    database.audit()
    return crowd


def smallest(database: TestDatabase, seed: str) -> str:
    """The smallest graphs that show a disagreement as well, and what it is."""
    end = time.monotonic() + SEARCH
    for size in range(1, SIZE):
        for n in range(3):
            if time.monotonic() > end:
                return "none smaller found in time"
            graphs = drawn(f"{seed}s{size}n{n}", 40, size)
            try:
                run(database, seed, graphs)
            except AssertionError as error:
                return f"also with graphs of size {size}: {error}"
    return "none smaller found"


@pytest.mark.timeout(kit.sized(300, 1200))
@pytest.mark.parametrize("batch", range(BATCHES))
def test_engine_and_reference_agree(database: TestDatabase, batch: int) -> None:
    """Many random graphs, several sessions: everything is where the reference says."""
    seed = f"{SEED}b{batch}"
    try:
        crowd = run(database, seed, drawn(seed), kills=kit.NIGHTLY and batch % 2 == 1)
    except AssertionError as error:
        raise AssertionError(
            f"PGBPM_MODEL_SEED={SEED}, batch {batch}: {error}\n{smallest(database, seed)}"
        ) from error
    # What the batch is about did happen.
    seen = crowd.outcomes()
    assert seen["Completed"] > GRAPHS
    assert seen["starved"]
    assert {"TimerFired", "MessageReceived", "ScopeOpened", "JoinFired"} <= set(crowd.kinds)


def test_graphs_are_those_of_their_seed() -> None:
    """A seed says everything about the graphs, or nobody could repeat a failure."""
    again = [repr(graph) for graph in drawn("again", 20)]
    assert again == [repr(graph) for graph in drawn("again", 20)]
    assert len(set(again)) == 20


@dataclass(frozen=True)
class Mutant:
    """A way to break the engine that the model must notice."""

    function: str
    pattern: str
    text: str
    first: str = ""
    of: str = " ".join(generator.LANDED)
    """What graphs are made of, where among all blocks it would show too rarely."""


ARRIVING = "bpm_core.enter_{}(bpm_core.moving[])"
MUTANTS = {
    "a join counts arrivals, not flows": Mutant(
        ARRIVING.format("parallel_joins"),
        r"coalesce\(before.round, 0\) \+ row_number\(\).*?\) as round",
        "((select count(*) from bpm_core.parallel_join_arrival j where j.workflow_instance_id ="
        " a.instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id) + row_number() over"
        " (partition by a.instance_id, a.scope_id, a.node_id) - 1) / n.incoming + 1 as round",
        "alter table bpm_core.parallel_join_arrival drop constraint parallel_join_arrival_pkey",
    ),
    "no default flow": Mutant(
        ARRIVING.format("exclusive_gateways"),
        "e.verdict is not false",
        "e.verdict is not false and not f.is_default",
    ),
    "undecidable is false": Mutant(
        ARRIVING.format("exclusive_gateways"), "e.verdict is not false", "e.verdict"
    ),
    "the last true flow": Mutant(
        ARRIVING.format("exclusive_gateways"), "order by f.ord", "order by f.is_default, f.ord desc"
    ),
    "the default beside others": Mutant(
        ARRIVING.format("inclusive_splits"), "e.verdict and not f.is_default", "e.verdict"
    ),
    "timers stay when their host leaves": Mutant(
        "bpm_core.close_events(text, uuid[])",
        r"t.status in \('Scheduled', 'Held'\)",
        "t.status = 'Held'",
    ),
    "waits stay when their host leaves": Mutant(
        "bpm_core.close_events(text, uuid[])",
        r"s.state = 'Open'\),\s+closed",
        "s.state = 'Closed'), closed",
    ),
    "patches of a batch the other way round": Mutant(
        "bpm_core.continue_accepted(text, bpm_core.accepted[])",
        "a.variables order by a.item",
        "a.variables order by a.item desc",
    ),
    "catches all before catches this": Mutant(
        "bpm_core.find_catch(bpm_core.moving, bpm_core.node_kind, text)",
        "nulls last",
        "nulls first",
        of="guarded sub call fling escalate task",
    ),
    "a message boundary hears once": Mutant(
        "bpm_core.apply_messages(text, bpm_core.inbox[])",
        r"perform bpm_core.reopen_waits\(v_again\);",
        "",
    ),
    "a timer beside its host is lost": Mutant(
        "bpm_core.leave_by_timers(bpm_core.timer[], timestamptz)",
        r"\|\| bpm_core.bear_tokens\(bpm_core.drop_dead\(v_beside\)\)",
        "",
        of="guarded task",
    ),
    "an error leaves its task open": Mutant(
        "bpm_core.follow_catch(bpm_core.catch)", r"perform bpm_core.close_waits\(.*?\);", ""
    ),
}
MUTANTS |= {
    "a sub-process ends with its first token": Mutant(
        "bpm_core.count_in_scopes(bpm_core.moving[], bpm_core.moving[])",
        "b.scope_id, 1 as more",
        "b.scope_id, 0 as more",
        of="sub fork task",
    ),
    "an inclusive join does not wait": Mutant(
        "bpm_core.fire_inclusive_joins(bpm_core.moving[])",
        "where s.blocker is null and s.here > 0",
        "where s.here > 0",
    ),
    "joins remember the dead": Mutant(
        "bpm_core.empty_scopes(text, uuid[])",
        r"perform bpm_core.clear_joins\(v_ended\);",
        "",
        of="sub event_sub surplus fork task",
    ),
    "what an interrupted sub-process holds goes on": Mutant(
        "bpm_core.empty_scopes(text, uuid[])", r"perform bpm_core.close_waits\(v_ended\);", ""
    ),
    "of two conditions that turn true one is lost": Mutant(
        "bpm_core.meet_conditions(text, uuid[])",
        r"and \(not r.met or r.effective and r.turn = 1\)",
        "",
        of="guarded conditional event_sub task",
    ),
    "a called process gives back nothing": Mutant(
        "bpm_core.apply_call_ends(text, bpm_core.inbox[])",
        r"w.variables \|\| bpm_core.patch_scopes\(.*?\)\n",
        "w.variables\n",
    ),
    "what is called goes on without its caller": Mutant(
        "bpm_core.close_calls(text, uuid[])",
        r"where c.tenant_id = p_tenant_id and",
        "where false and",
        of="guarded call event_sub task",
    ),
    "outputs in the order of ends": Mutant(
        "bpm_core.keep_output(bpm_core.loop_state, timestamptz)",
        r"x.output order by x.index\)",
        "x.output order by x.index desc)",
    ),
    "an event sub-process interrupts nothing": Mutant(
        "bpm_core.start_event_subs(bpm_core.moving[], boolean)",
        "if p_interrupting then",
        "if false then",
    ),
}
ALWAYS = (
    "a join counts arrivals, not flows",
    "no default flow",
    "timers stay when their host leaves",
)
CHECKED = list(MUTANTS) if kit.NIGHTLY else ALWAYS


@pytest.mark.timeout(kit.sized(300, 1200))
@pytest.mark.breaks_invariants
@pytest.mark.parametrize("name", CHECKED)
def test_mutants_are_found(fresh_database: TestDatabase, name: str) -> None:
    """An engine that is broken a little does not agree any more."""
    mutant = MUTANTS[name]
    if mutant.first:
        fresh_database.rows(mutant.first)
    kit.mutate(fresh_database, mutant.function, mutant.pattern, mutant.text)
    with pytest.raises((Disagreement, psycopg.Error)):
        _run_some(fresh_database, frozenset(mutant.of.split()))


def _run_some(database: TestDatabase, of: frozenset[str]) -> None:
    for n in range(10):
        crowd = Crowd(database, drawn(f"mutant{n}", 40, of=of), f"mutant{n}")
        try:
            crowd.run(INSTANCES)
        finally:
            crowd.close()

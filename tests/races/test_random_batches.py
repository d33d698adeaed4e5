"""Many workers, random processes, random batches: no deadlock, nothing lost, nothing forged."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.races import kit, load
from tests.support.database import TestDatabase

WORKERS = 6


def _run(database: TestDatabase, seed: int, instances: int) -> load.Crowd:
    """Start instances of random processes and let the crowd bring them to their end."""
    codes = [f"random{n}" for n in range(6)]
    kit.deploy(database, *load.SHAPES.values())
    kit.deploy(database, *(load.random_process(code, seed + n) for n, code in enumerate(codes)))
    codes += load.SHAPES
    items = [
        {"code": codes[n % len(codes)], "variables": {"lucky": n % 3 == 0}}
        for n in range(instances)
    ]
    rows = database.rows("select * from bpm.start_processes(%s)", [json.dumps(items)])
    assert {row["outcome"] for row in rows} == {"Done"}
    crowd = load.Crowd(database, seed)
    crowd.run(*[load.complete_in_random_batches(crowd)] * WORKERS)
    return crowd


def _lost(database: TestDatabase) -> dict[str, int]:
    """What must not be there once all work is done; each must be 0."""
    (row,) = database.rows(
        """
        select (select count(*) from bpm_core.task_instance t where t.state <> 'Completed')
                 as tasks_left,
               (select count(*)
                  from bpm_core.task_instance t
                  join bpm_core.workflow_instance w
                    on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
                 where t.state = 'Completed' and not w.variables ? ('k' || t.id)) as patches_lost,
               (select count(*) from bpm_core.workflow_instance w where w.variables ? 'forged')
                 as forged,
               (select count(*)
                  from bpm.instance i
                 where i.status <> case i.process_code when 'surplus' then 'Running'
                                                       else 'Completed' end) as not_ended,
               (select count(*)
                  from bpm_core.incident i
                  join bpm.instance p on p.workflow_instance_id = i.workflow_instance_id
                 where (i.code, p.process_code) <> ('JoinStarved', 'surplus')) as incidents,
               (select count(*) from bpm_core.history_event h where h.kind = 'JoinFired')
               - (select count(*) from bpm_core.parallel_join j where j.fired_at is not null)
                 as joins_told_wrong
        """
    )
    return dict(row)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(kit.sized(1, 20)))
def test_random_batches(
    fresh_database: TestDatabase, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """Completions only: 40P01 must not happen at all; every batch carries a forged answer."""
    crowd = _run(fresh_database, 20110103 + 100 * seed, kit.sized(180, 600))
    print(f"random batches, seed {seed}: {dict(crowd.counts)}")
    record_property("random_batches", dict(crowd.counts))
    assert not crowd.over, (crowd.errors, crowd.wrong)
    assert set(crowd.counts) == {"Completed", "LeaseLost"}, crowd.counts
    assert crowd.counts["Completed"] > 500
    assert not any(_lost(fresh_database).values()), _lost(fresh_database)


def _mixed(database: TestDatabase, seed: int, rounds: int) -> load.Crowd:
    """Everybody at once, each kind of call there is, on processes that have everything."""
    load.deploy_everything(database)
    crowd = load.Crowd(database, seed)
    crowd.run(*load.Everything(crowd, rounds).everybody())
    return crowd


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(kit.sized(1, 20)))
def test_everybody_at_once(
    fresh_database: TestDatabase, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """C26 at large: all kinds of calls; no deadlock, invariants hold, all can be finished."""
    crowd = _mixed(fresh_database, seed, kit.sized(200, 400))
    print(f"everybody, seed {seed}: {dict(sorted(crowd.counts.items()))}")
    record_property("everybody", dict(crowd.counts))
    assert not crowd.over, (crowd.errors, crowd.wrong)
    assert crowd.counts["deadlocks"] == crowd.counts["lock timeouts"] == 0, crowd.counts
    fresh_database.audit()
    load.finish(fresh_database, load.EVERYTHING_TYPES)


MUTANTS = {
    "no lock": [
        (
            "bpm_core.lock_instances(text,uuid[])",
            r"begin.*end",
            "begin return array[]::uuid[]; end",
        )
    ],
    "unsorted": [
        (
            "bpm_core.lock_instances_of_tasks(text,uuid[])",
            r"select distinct (t.tenant_id, t.workflow_instance_id as id.* order by)",
            r"select \1 md5(t.workflow_instance_id::text || pg_backend_pid()),",
        ),
        (
            "bpm_core.take_direct_steps(text,jsonb)",
            r"order by (t.workflow_instance_id) offset 0",
            r"order by md5(\1::text || pg_backend_pid()) offset 0",
        ),
    ],
    "no fence": [
        (
            "bpm_core.accept_answers(text,bpm_core.answer[],uuid[],timestamptz,jsonb)",
            r"and t.fencing_token = a.fencing_token",
            "",
        )
    ],
}


@pytest.mark.slow
@pytest.mark.breaks_invariants
@pytest.mark.parametrize(
    ("mutant", "run"),
    [("no lock", "mixed"), ("unsorted", "batches"), ("no fence", "batches")],
)
def test_a_broken_engine_is_noticed(fresh_database: TestDatabase, mutant: str, run: str) -> None:
    """The tests above can fail: each of these faults makes one of them do so."""
    for place in MUTANTS[mutant]:
        kit.mutate(fresh_database, *place)
    for seed in range(5):
        if run == "mixed":
            crowd = _mixed(fresh_database, seed, 120)
            wrong = crowd.counts["deadlocks"] > 0 or bool(crowd.wrong)
        else:
            crowd = _run(fresh_database, 20110103 + seed, 180)
            wrong = crowd.counts["deadlocks"] > 0 or bool(crowd.wrong)
            wrong = wrong or any(_lost(fresh_database).values())
        # A constraint may catch it first; any other error would be a fault of this test.
        assert all(error.startswith(("Check", "Unique")) for error in crowd.errors), crowd.errors
        violations = fresh_database.rows("select * from bpm.check_invariants()")
        if crowd.errors or violations or wrong:
            seen = [*crowd.errors[:1], *crowd.wrong[:1], *violations[:1]]
            print(f"{mutant}: {seen} {dict(crowd.counts)}")
            return
    pytest.fail(f"nothing notices: {mutant}")

"""The tenant wall holds, and is seen to fail where it is breached. ``make wall`` storms longer."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import dict_row

from pgbpm import migrations
from pgbpm.devtools import scratch
from tests.wall import arguments, campaign, fuzz
from tests.wall.campaign import Campaign
from tests.wall.judge import Findings


@pytest.fixture(scope="module")
def besieged(server_url: str) -> Iterator[Campaign]:
    """A world of tenants, as an installer sees it."""
    with scratch.scratch_database(server_url) as url:
        with psycopg.connect(url, autocommit=True) as conn:
            migrations.run(conn)
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as conn:
            one = Campaign(conn, thorough=False)
            try:
                one.prepare()
                yield one
            finally:
                one.drop_roles()


def test_the_wall_holds(besieged: Campaign) -> None:
    besieged.storm()
    found = besieged.findings
    assert not found.leaks, found.leaks[:3]
    assert not found.unexpected, found.unexpected[:3]
    assert sum(found.counts.values()) > 3000
    assert len(besieged.functions) > 60
    assert len(besieged.views) > 15


def test_nothing_but_codes_of_ours_comes_out(besieged: Campaign) -> None:
    """Bad arguments of every kind for every parameter; all of them with PGBPM_TEST_SIZE=nightly."""
    besieged.findings = Findings()
    made = fuzz.run(besieged, None if os.environ.get("PGBPM_TEST_SIZE") == "nightly" else 3)
    assert made > 700
    assert not besieged.findings.unexpected, besieged.findings.unexpected[:3]
    assert not besieged.findings.leaks, besieged.findings.leaks[:3]


BREACHES = """
create function bpm.bad_reader(p_process_instance_id uuid, p_tenant_id text default '') returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return (select p.variables from bpm_core.process_instance p where p.id = p_process_instance_id);
end $$;
create function bpm.bad_oracle(p_process_instance_id uuid, p_tenant_id text default '') returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if exists (select from bpm_core.process_instance p
              where p.id = p_process_instance_id and p.tenant_id <> p_tenant_id) then
    perform bpm_core.fail('BP403', 'Not yours.');
  end if;
  return 'x';
end $$;
create function bpm.bad_writer(p_task_id uuid, p_tenant_id text default '') returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  update bpm_core.task_instance t set node_id = 'x' where t.id = p_task_id;
  return 'x';
end $$;
create function bpm.bad_door(p_limit int default 1, p_tenant_id text default '') returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin
  return 'x';
end $$;
create function bpm.bad_path(p_limit int default 1, p_tenant_id text default '') returns text
  language plpgsql security definer as $$ begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return upper('x');
end $$;
create function bpm.bad_code(p_limit int default 1, p_tenant_id text default '') returns int
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return 1 / (length(p_tenant_id) - length(p_tenant_id));
end $$;
create view bpm.bad_view with (security_barrier) as
select t.tenant_id, t.id from bpm_core.task_instance t;
create view bpm.bad_barrier as select t.tenant_id, t.id from bpm_core.task_instance t
 where t.tenant_id = any (array(select bpm_core.visible_tenants()));
create view bpm.bad_union with (security_barrier) as
select t.tenant_id, t.id, t.node_id from bpm_core.task_instance t
 where t.tenant_id = any (array(select bpm_core.visible_tenants()))
union all
select t.tenant_id, t.id, t.node_id from bpm_core.token t
 where t.state = 'Waiting' and t.tenant_id = any (array(select bpm_core.visible_tenants()));
alter view bpm.bad_union owner to bpm_owner;
alter view bpm.bad_view owner to bpm_owner;
alter view bpm.bad_barrier owner to bpm_owner;
grant select on bpm.bad_view, bpm.bad_barrier, bpm.bad_union to bpm_reader, bpm_worker;
do $$ declare r record; begin
  for r in select p.oid::regprocedure as f from pg_proc p where p.proname like 'bad\\_%' loop
    execute format('alter function %s owner to bpm_owner', r.f);
    execute format('revoke execute on function %s from public', r.f);
    execute format('grant execute on function %s to bpm_reader, bpm_worker', r.f);
  end loop;
end $$;
"""


def test_breaches_are_seen(besieged: Campaign) -> None:
    """Each way to breach it, built in on purpose, is told by the name of what does it."""
    conn = besieged._conn
    conn.execute(BREACHES)
    besieged.functions = [f for f in arguments.functions(conn) if f.name.startswith("bad_")]
    besieged.views = ["bad_view", "bad_barrier", "bad_union"]
    besieged.findings = Findings()
    besieged.arm()
    besieged.storm()
    leaks = {(one["function"], one["what"].partition(" '")[0]) for one in besieged.findings.leaks}
    odd = {(one["function"], one["code"]) for one in besieged.findings.unexpected}
    assert ("bad_reader", "shows") in leaks
    assert ("bad_oracle", "tells whether it exists") in leaks
    assert ("bad_writer", "changed rows of others") in leaks
    assert ("bad_door", "the victim") in {(f, w[:10]) for f, w in leaks}
    assert ("bad_door", "works without a grant") in leaks
    assert ("bad_path", "WALL1") in odd
    assert ("bad_code", "22012") in odd
    assert ("bad_view", "a row of another tenant") in leaks
    assert ("bad_barrier", "shows") in leaks
    assert ("bad_union", "shows") in leaks


def test_what_is_new_must_be_told(besieged: Campaign) -> None:
    conn = besieged._conn
    with conn.transaction(force_rollback=True):
        conn.execute(
            "create function bpm.newer(p_colour text, p_tenant_id text default '') returns int"
            " language sql as 'select 1'"
        )
        with pytest.raises(LookupError, match="p_colour of newer"):
            campaign.must_be_known(arguments.functions(conn))

-- Deletes events, with their decisions, evidence links and closed letters.
-- Returns:  integer, how many. Locks: none besides.
create or replace function bpm_core.delete_events(p_tenant_id text, p_events uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_n integer;
begin
  delete from bpm_core.event_evidence x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_events) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.event_evidence x where x.tenant_id = k.tenant_id and x.event_id = k.id offset 0) x));
  delete from bpm_core.routing_decision x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_events) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.routing_decision x where x.event_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  delete from bpm_core.dead_letter x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_events) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.dead_letter x where x.event_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  delete from bpm_core.event x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_events) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.event x where x.tenant_id = k.tenant_id and x.id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  return v_n;
end
$$;

-- Fires timers of locked instances, as fire_timers does, but waits for nobody longer than a second: those of instances of which somebody holds a task in a
-- transaction that lasts are left for the next tick, and the others fire.
-- Returns:  integer, timers dealt with. Writes: as fire_timers.
create or replace function bpm_core.fire_unheld(p_tenant_id text, p_timers uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '1s'
as $$
declare
  v_free uuid[];
begin
  if cardinality(p_timers) = 0 then
    return 0;
  end if;
  begin
    return bpm_core.fire_timers(p_tenant_id, p_timers, p_now);
  exception
    when lock_not_available then
      v_free := bpm_core.unheld_instances(p_tenant_id, array(
        select t.workflow_instance_id
          from unnest(p_timers) k(id)
         cross join lateral (select t.workflow_instance_id from bpm_core.timer t where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t));
  end;
  v_free := array(
    select k.id
      from unnest(p_timers) k(id)
     cross join lateral (select t.workflow_instance_id from bpm_core.timer t where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     where t.workflow_instance_id = any (v_free));
  if cardinality(v_free) < cardinality(p_timers) then
    return bpm_core.fire_unheld(p_tenant_id, v_free, p_now);
  end if;
  -- It was something else, or has been let go meanwhile.
  return case when cardinality(p_timers) = 1 then 0 else (select sum(bpm_core.fire_unheld(p_tenant_id, array[k.id], p_now))::integer from unnest(p_timers) k(id)) end;
end
$$;

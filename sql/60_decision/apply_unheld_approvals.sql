-- What time does to approvals of locked instances (p_times), or the effects of those that are decided, at most one per instance; but it waits for nobody
-- longer than a second: those of instances of which somebody holds a task in a transaction that lasts are left for the next tick.
-- Returns:  integer, how many were dealt with. Writes: as apply_approval_times or apply_decisions.
create or replace function bpm_core.apply_unheld_approvals(p_tenant_id text, p_approvals uuid[], p_times boolean)
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
  if cardinality(p_approvals) = 0 then
    return 0;
  end if;
  begin
    return case when p_times then bpm_core.apply_approval_times(p_tenant_id, p_approvals, bpm_core.now())
                else bpm_core.apply_decisions(p_tenant_id, p_approvals) end;
  exception
    when lock_not_available then
      v_free := bpm_core.unheld_instances(p_tenant_id, array(
        select a.workflow_instance_id
          from unnest(p_approvals) k(id)
         cross join lateral (select a.workflow_instance_id from bpm_core.approval_record a where a.tenant_id = p_tenant_id and a.id = k.id offset 0) a));
  end;
  v_free := array(
    select k.id
      from unnest(p_approvals) k(id)
     cross join lateral (select a.workflow_instance_id from bpm_core.approval_record a where a.tenant_id = p_tenant_id and a.id = k.id offset 0) a
     where a.workflow_instance_id = any (v_free));
  if cardinality(v_free) < cardinality(p_approvals) then
    return bpm_core.apply_unheld_approvals(p_tenant_id, v_free, p_times);
  end if;
  -- It was something else, or has been let go meanwhile.
  return case when cardinality(p_approvals) = 1 then 0
              else (select sum(bpm_core.apply_unheld_approvals(p_tenant_id, array[k.id], p_times))::integer from unnest(p_approvals) k(id)) end;
end
$$;

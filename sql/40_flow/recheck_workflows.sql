-- The variables of processes have changed: their workflows that run and may wait for conditions ask them again, through the inbox, each under its own lock.
-- Writes:   inbox.
create or replace function bpm_core.recheck_workflows(p_tenant_id text, p_processes uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.new_id(), 'WorkflowInstance', w.id, 'Recheck', '{}', bpm_core.now()
    from unnest(p_processes) k(id)
   cross join lateral (select w.tenant_id, w.id, w.status, w.workflow_version_id, w.parent_token_id from bpm_core.workflow_instance w
                        where w.process_instance_id = k.id offset 0) w
   cross join lateral (select v.has_conditions from bpm_core.workflow_version v where v.tenant_id = w.tenant_id and v.id = w.workflow_version_id offset 0) v
   where w.tenant_id = p_tenant_id and w.status in ('Running', 'Suspended') and w.parent_token_id is null and v.has_conditions;
  if found then
    perform bpm_core.wake_sleepers('tick', p_tenant_id);
  end if;
end
$$;

-- Tells processes of several, through the inbox, that workflows of theirs have ended. One that has ended itself needs not hear it.
-- Writes:   inbox.
create or replace function bpm_core.tell_processes(p_tenant_id text, p_instances uuid[], p_status bpm_core.workflow_status)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.new_id(), 'ProcessInstance', w.process_instance_id, 'WorkflowEnded',
         jsonb_build_object('process', w.process_instance_id, 'workflow', w.id, 'binding', w.binding_key, 'status', p_status), bpm_core.now()
    from (select p_tenant_id as tenant_id, e.* from unnest(p_instances) e(id) offset 0) e
   cross join lateral (select w.tenant_id, w.id, w.process_instance_id, w.binding_key from bpm_core.workflow_instance w
                        where w.tenant_id = e.tenant_id and w.id = e.id offset 0) w
   cross join lateral (select p.status from bpm_core.process_instance p where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
   where p.status in ('Running', 'Suspended');
  if found then
    perform bpm_core.wake_sleepers('tick', p_tenant_id);
  end if;
end
$$;

-- Cancels what still runs in a process of several that has ended: through the inbox, each under its own lock. What they have called follows then.
-- p_by: the workflow instance whose end this follows; null: nobody's. Writes: inbox.
create or replace function bpm_core.cancel_workflows(p_tenant_id text, p_process_instance_id uuid, p_by uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.new_id(), 'WorkflowInstance', w.id, 'Cancel', jsonb_build_object('process', p_process_instance_id, 'by', p_by), bpm_core.now()
    from (select w.tenant_id, w.id, w.status, w.parent_token_id from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id offset 0) w
   where w.tenant_id = p_tenant_id and w.status in ('Running', 'Suspended') and w.parent_token_id is null;
  if found then
    perform bpm_core.wake_sleepers('tick', p_tenant_id);
  end if;
end
$$;

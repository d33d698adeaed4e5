-- Ends a workflow of several that has not begun as Skipped; its process hears of it through the inbox. The instance is locked.
-- Writes:   workflow_instance, history_event, inbox.
create or replace function bpm_core.skip_workflow(p_tenant_id text, p_instance_id uuid, p_actor text, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  update bpm_core.workflow_instance w
     set status = 'Skipped', ended_at = p_now
   where w.tenant_id = p_tenant_id and w.id = p_instance_id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, from_state, to_state, actor)
  values (p_tenant_id, p_instance_id, p_now, 'InstanceSkipped', 'Running', 'Skipped', p_actor);
  perform bpm_core.tell_processes(p_tenant_id, array[p_instance_id], 'Skipped');
end
$$;

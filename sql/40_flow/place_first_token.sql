-- Puts the first token into a workflow instance that had none yet. The instance is locked.
-- Returns:  moving, leaving the start event. Writes: token, workflow_instance (live_tokens), history_event.
create or replace function bpm_core.place_first_token(p_tenant_id text, p_due bpm_core.due_binding, p_actor text, p_now timestamptz)
returns bpm_core.moving
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.token (tenant_id, id, workflow_instance_id, node_id, state, updated_at)
  values (p_tenant_id, p_due.token_id, p_due.workflow_instance_id, p_due.start_node_id, 'Waiting', p_now);
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens + 1
   where w.tenant_id = p_tenant_id and w.id = p_due.workflow_instance_id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor)
  values (p_tenant_id, p_due.workflow_instance_id, p_now, 'TokenBorn', p_due.token_id, p_due.start_node_id, p_actor);
  return row(p_tenant_id, p_due.workflow_instance_id, p_due.workflow_version_id, bpm_core.root_scope(), p_due.token_id, p_due.start_node_id, null,
             null)::bpm_core.moving;
end
$$;

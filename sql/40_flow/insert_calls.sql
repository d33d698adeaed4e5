-- Creates the instances that call activities call, each with its first token.
-- Returns:  moving[], the first tokens, leaving their start events. Writes: workflow_instance, token, history_event.
create or replace function bpm_core.insert_calls(p_calls bpm_core.call[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  insert into bpm_core.workflow_instance (tenant_id, id, process_instance_id, workflow_version_id, role_version_id, binding_key, trigger_key, parent_token_id,
                                          ends_process, depth, live_tokens, inputs, created_at)
  select (c.host).tenant_id, c.child_id, c.process_instance_id, c.workflow_version_id, c.role_version_id, 'call:' || (c.host).node_id,
         (c.host).token_id || ':' || c.visit, (c.host).token_id, false, c.depth, 1, c.inputs, v_now
    from unnest(p_calls) c;
  insert into bpm_core.token (tenant_id, id, workflow_instance_id, node_id, state, updated_at)
  select (c.host).tenant_id, c.token_id, c.child_id, c.start_node_id, 'Waiting', v_now
    from unnest(p_calls) c;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select (c.host).tenant_id, (c.host).instance_id, v_now, 'CallStarted'::bpm_core.history_kind, (c.host).token_id, (c.host).node_id, null,
         jsonb_build_object('child', c.child_id, 'process', c.code)
    from unnest(p_calls) c
  union all
  select (c.host).tenant_id, c.child_id, v_now, 'InstanceStarted', c.token_id, c.start_node_id, 'Running',
         jsonb_build_object('workflow_version', c.workflow_version_id, 'caller', (c.host).instance_id, 'inputs', c.inputs)
    from unnest(p_calls) c;
  perform bpm_core.emit_events((p_calls[1].host).tenant_id, 'InstanceStarted', array(select c.child_id from unnest(p_calls) c));
  return array(
    select row((c.host).tenant_id, c.child_id, c.workflow_version_id, bpm_core.root_scope(), c.token_id, c.start_node_id, null, null)::bpm_core.moving
      from unnest(p_calls) c);
end
$$;

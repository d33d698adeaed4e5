-- Makes the instance of a restart, with the variables it takes along, and lets it begin.
-- Raises:   BP422 not at that node. Writes: as insert_starts; workflow_instance, history_event, audit_event, and what the nodes ahead write.
create or replace function bpm_core.begin_again(
  p_tenant_id text, p_from uuid, p_start bpm_core.start, p_node_id text, p_variables jsonb, p_actor text, p_reason text, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[];
begin
  v_leaving := bpm_core.insert_starts(p_tenant_id, array[p_start], p_actor, p_now);
  if p_start.is_several is not true then
    update bpm_core.workflow_instance w
       set variables = p_variables
     where w.tenant_id = p_tenant_id and w.id = p_start.workflow_instance_id;
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, actor, detail)
    values (p_tenant_id, p_start.workflow_instance_id, bpm_core.now(), 'VariablesSet', p_actor,
            jsonb_build_object('variables', p_variables));
  end if;
  perform bpm_core.write_audit(p_tenant_id, p_actor, 'RestartProcess', 'process_instance', p_start.process_instance_id::text, null, p_reason,
    jsonb_strip_nulls(jsonb_build_object('restart_of', p_from, 'node', p_node_id)));
  if p_node_id is null then
    perform bpm_core.advance_isolated(v_leaving);
  else
    perform bpm_core.check_placement(v_leaving[1], p_node_id);
    perform bpm_core.place_token(v_leaving[1], p_node_id, p_actor, p_reason);
  end if;
end
$$;

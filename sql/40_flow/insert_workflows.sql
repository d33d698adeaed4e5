-- Creates the workflow instances of bindings whose turn has come: with their first token; skipped, which counts as ended; or without a token and with an
-- incident where that cannot be decided, whose resolution decides it again.
-- Returns:  moving[], the first tokens, leaving their start events.
-- Writes:   workflow_instance, token, process_instance (ended_bindings), incident, history_event. The processes are locked, or nobody knows them yet.
create or replace function bpm_core.insert_workflows(p_tenant_id text, p_due bpm_core.due_binding[], p_actor text, p_now timestamptz)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.workflow_instance (tenant_id, id, process_instance_id, workflow_version_id, role_version_id, binding_key, ends_process, status, live_tokens,
                                          created_at, ended_at)
  select p_tenant_id, d.workflow_instance_id, d.process_instance_id, d.workflow_version_id, d.role_version_id, d.binding_key, false,
         case d.fate when 'Skip' then 'Skipped' else 'Running' end::bpm_core.workflow_status, (d.fate = 'Begin')::integer, p_now, case d.fate when 'Skip' then p_now end
    from unnest(p_due) d;
  insert into bpm_core.token (tenant_id, id, workflow_instance_id, node_id, state, updated_at)
  select p_tenant_id, d.token_id, d.workflow_instance_id, d.start_node_id, 'Waiting', p_now
    from unnest(p_due) d
   where d.fate = 'Begin';
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, actor, detail)
  select p_tenant_id, d.workflow_instance_id, p_now, case d.fate when 'Skip' then 'InstanceSkipped' else 'InstanceStarted' end::bpm_core.history_kind,
         case d.fate when 'Begin' then d.token_id end, case d.fate when 'Begin' then d.start_node_id end, case d.fate when 'Skip' then 'Skipped' else 'Running' end, p_actor,
         jsonb_build_object('workflow_version', d.workflow_version_id, 'binding', d.binding_key) || coalesce(d.cause, '{}')
    from unnest(p_due) d;
  update bpm_core.process_instance p
     set ended_bindings = p.ended_bindings || k.keys
    from (select p_tenant_id as tenant_id, d.process_instance_id, array_agg(d.binding_key order by d.position) as keys
            from unnest(p_due) d where d.fate = 'Skip' group by d.process_instance_id offset 0) k
   where p.tenant_id = k.tenant_id and p.id = k.process_instance_id;
  perform bpm_core.stop_starts(p_tenant_id, array(select d from unnest(p_due) d where d.fate = 'Stop'), p_now);
  perform bpm_core.emit_events(p_tenant_id, 'InstanceStarted', array(select d.workflow_instance_id from unnest(p_due) d where d.fate = 'Begin'));
  return array(
    select row(p_tenant_id, d.workflow_instance_id, d.workflow_version_id, bpm_core.root_scope(), d.token_id, d.start_node_id, null, null)::bpm_core.moving
      from unnest(p_due) d
     where d.fate = 'Begin');
end
$$;

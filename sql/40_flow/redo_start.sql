-- Decides again about a workflow of several that could neither begin nor be skipped, over the process variables as they are now. Its instance is locked.
-- Returns:  boolean: whether the incident was about that. If it still cannot be decided there is a new one.
-- Writes:   token, workflow_instance, history_event, incident, inbox, and what the path ahead writes.
create or replace function bpm_core.redo_start(p_incident bpm_core.incident, p_actor text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
  v_due bpm_core.due_binding;
begin
  if p_incident.code not in ('StartUndecidable', 'WorkflowNotStartable') or p_incident.token_id is not null then
    return false;
  end if;
  v_due := (
    select row(w.process_instance_id, w.binding_key, b.position, w.workflow_version_id, w.role_version_id, w.id, bpm_core.new_id(), n.node_id,
               j.fate, j.code, j.message, j.detail, null)::bpm_core.due_binding
      from bpm_core.workflow_instance w
     cross join lateral (select p.process_version_id, p.variables from bpm_core.process_instance p
                          where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
     cross join lateral (select b.* from bpm_core.process_workflow_binding b
                          where b.tenant_id = w.tenant_id and b.process_version_id = p.process_version_id and b.binding_key = w.binding_key offset 0) b
     cross join lateral (select bpm_core.plain_start(w.tenant_id, w.workflow_version_id) as node_id offset 0) n
     cross join lateral bpm_core.judge_start(row(b.*)::bpm_core.process_workflow_binding, n.node_id, p.variables) j
     where w.tenant_id = p_incident.tenant_id and w.id = p_incident.workflow_instance_id);
  case v_due.fate
    when 'Stop' then
      perform bpm_core.stop_starts(p_incident.tenant_id, array[v_due], v_now);
    when 'Skip' then
      perform bpm_core.skip_workflow(p_incident.tenant_id, v_due.workflow_instance_id, p_actor, v_now);
    else
      perform bpm_core.advance_isolated(array[bpm_core.place_first_token(p_incident.tenant_id, v_due, p_actor, v_now)]);
  end case;
  return true;
end
$$;

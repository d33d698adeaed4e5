-- Evaluates the output mappings of a completed task again, from what it brought: what resolving their incident means. The work is not done twice.
-- The instance is locked and the incident resolved. If they still cannot be evaluated the token stops again at once.
-- Returns:  boolean, whether the incident was about such mappings.
-- Writes:   history_event, workflow_instance, and what the path ahead writes; incident.
create or replace function bpm_core.redo_outputs(p_incident bpm_core.incident, p_actor text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task    bpm_core.task_instance;
  v_patch   jsonb;
  v_problem text;
  v_detail  jsonb;
begin
  if not p_incident.detail ? 'completed' then
    return false;
  end if;
  select t.* into r_task
    from bpm_core.task_instance t
   where t.tenant_id = p_incident.tenant_id and t.id = (p_incident.detail ->> 'completed')::uuid and t.state = 'Completed';
  if not found then
    return false;
  end if;
  select coalesce(m.patch, '{}'), m.problem, m.detail
    into v_patch, v_problem, v_detail
    from bpm_core.mapped_outputs(r_task.tenant_id, r_task.workflow_instance_id, r_task.scope_id, r_task.outputs, r_task.input, p_incident.detail -> 'brought') m;
  if v_problem is not null then
    perform bpm_core.stop_unmapped(r_task.tenant_id, array[row(
      row(1, r_task.id, r_task.workflow_instance_id, r_task.token_id, r_task.node_id, r_task.attempt, v_patch, r_task.scope_id)::bpm_core.accepted,
      v_problem, v_detail)::bpm_core.unmapped]);
    return true;
  end if;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (r_task.tenant_id, r_task.workflow_instance_id, bpm_core.now(), 'TaskCompleted', r_task.token_id, r_task.node_id, p_actor,
          jsonb_build_object('task', r_task.id, 'attempt', r_task.attempt, 'variables', v_patch)
          || bpm_core.local_names(r_task.tenant_id, r_task.scope_id, v_patch));
  perform bpm_core.continue_accepted(r_task.tenant_id, array[
    row(1, r_task.id, r_task.workflow_instance_id, r_task.token_id, r_task.node_id, r_task.attempt, v_patch, r_task.scope_id)::bpm_core.accepted]);
  return true;
end
$$;

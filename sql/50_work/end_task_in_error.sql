-- Under the locks: ends the running attempt with a BPMN error and raises it. The variables it brought are patched first. One that
-- somebody will catch is parked while the instance is suspended (p_suspended).
-- Returns:  outcome: Done when somebody caught it, Failed when none did (task and token Failed, incident, dead letter).
-- Writes:   task_instance, execution, workflow_instance, history_event, quota_slot, and what follows.
create or replace function bpm_core.end_task_in_error(p_task bpm_core.task_instance, p_error jsonb, p_variables jsonb, p_suspended boolean)
returns bpm.outcome
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_token  bpm_core.moving;
  v_caught boolean;
  v_local  jsonb := bpm_core.local_names(p_task.tenant_id, p_task.scope_id, p_variables);
begin
  v_token := (
    select row(t.tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
    from bpm_core.token t
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_task.tenant_id and t.id = p_task.token_id);
  v_caught := bpm_core.is_caught(v_token, p_error ->> 'code');
  if v_caught and p_suspended then
    perform bpm_core.park_error(p_task, p_error, p_variables);
    return 'Done'::bpm.outcome;
  end if;
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1,
         variables = w.variables || bpm_core.patch_scopes(p_task.tenant_id, coalesce(p_task.scope_id, bpm_core.root_scope()), p_variables)
   where w.tenant_id = p_task.tenant_id and w.id = p_task.workflow_instance_id;
  update bpm_core.task_instance t
     set state = case when v_caught then 'Cancelled' else 'Failed' end::bpm_core.task_state
   where t.tenant_id = p_task.tenant_id and t.id = p_task.id;
  if p_task.type_slot is not null or p_task.tenant_slot is not null then
    perform bpm_core.free_quota_slots(p_task.tenant_id, array[p_task.id]);
  end if;
  insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome, error)
  values (p_task.tenant_id, p_task.id, p_task.attempt, p_task.worker_id, p_task.fencing_token, p_task.claimed_at, p_task.lease_until, v_now, 'Failed',
          case when v_caught then 'Done' else 'Failed' end::bpm.outcome, p_error);
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_task.tenant_id, p_task.workflow_instance_id, v_now, 'ErrorThrown', p_task.token_id, p_task.node_id, p_task.worker_id,
          jsonb_build_object('task', p_task.id, 'attempt', p_task.attempt, 'error', p_error - 'variables', 'variables', p_variables)
          || v_local);
  if v_caught then
    perform bpm_core.raise_errors(array[row(1, v_token, p_error ->> 'code', p_error ->> 'message')::bpm_core.thrown]);
    return 'Done'::bpm.outcome;
  end if;
  perform bpm_core.bury_tasks(p_task.tenant_id, array[p_task.id], 'UncaughtError', v_now);
  perform bpm_core.recheck_conditions(p_task.tenant_id, array[p_task.workflow_instance_id]);
  return 'Failed'::bpm.outcome;
end
$$;

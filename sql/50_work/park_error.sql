-- Under the locks: parks a BPMN error thrown by the running attempt of a suspended instance, which a boundary will catch after resume. The
-- attempt ends now.
-- Writes:   task_instance, execution, inbox, history_event, quota_slot, and what close_events writes.
create or replace function bpm_core.park_error(p_task bpm_core.task_instance, p_error jsonb, p_variables jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.task_instance t
     set state = 'Cancelled'
   where t.tenant_id = p_task.tenant_id and t.id = p_task.id;
  if p_task.type_slot is not null or p_task.tenant_slot is not null then
    perform bpm_core.free_quota_slots(p_task.tenant_id, array[p_task.id]);
  end if;
  insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome, error)
  values (p_task.tenant_id, p_task.id, p_task.attempt, p_task.worker_id, p_task.fencing_token, p_task.claimed_at, p_task.lease_until, v_now, 'Failed',
          'Done', p_error);
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  values (p_task.tenant_id, bpm_core.inbox_id(p_task.workflow_instance_id), 'WorkflowInstance', p_task.workflow_instance_id, 'Answer',
          jsonb_build_object('task', p_task.id, 'token', p_task.token_id, 'variables', p_variables, 'error', p_error - 'variables'), 'infinity');
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  values (p_task.tenant_id, p_task.workflow_instance_id, v_now, 'TaskHeld', p_task.token_id, p_task.node_id, 'Executing', 'Cancelled', p_task.worker_id,
          jsonb_build_object('task', p_task.id, 'attempt', p_task.attempt, 'parked', true, 'error', p_error - 'variables'));
  perform bpm_core.close_events(p_task.tenant_id, array[p_task.token_id]);
end
$$;

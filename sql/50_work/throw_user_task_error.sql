-- A person ends a user task with a BPMN error, as throw_error does for a worker: the nearest boundary or event sub-process that catches the code
-- takes the token; without one it is an incident. An unclaimed task is claimed by it.
-- Returns:  one row: task_id, outcome (Done caught, Failed not caught; also for an unchanged repeat by the same person), instance_status.
-- Raises:   BP403, BP404, BP409 somebody else holds it, or it is no longer open; BP422 bad code or variables; BP423 suspended.
-- Writes:   task_instance, execution, workflow_instance, history_event, audit_event, and what the path ahead writes.
-- Locks:    workflow_instance, then task_instance.
create or replace function bpm.throw_user_task_error(
  p_task_id uuid, p_error_code text, p_message text default null, p_variables jsonb default '{}', p_actor text default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_error jsonb := jsonb_build_object('code', p_error_code, 'message', p_message)
                   || case when coalesce(p_variables, '{}') = '{}' then '{}' else jsonb_build_object('variables', p_variables) end;
  r_task  bpm_core.task_instance;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(btrim(p_error_code)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP422', 'An error code has 1 to 200 characters.', jsonb_build_object('code', p_error_code));
  elsif bpm_core.variables_fault(coalesce(p_variables, '{}')) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  select e.outcome into outcome
    from bpm_core.task_instance t
   cross join lateral (select e.outcome from bpm_core.execution e
                        where e.tenant_id = t.tenant_id and e.task_instance_id = t.id and e.attempt = t.attempt
                          and e.state = 'Failed' and e.worker_id = v_actor and e.error = v_error offset 0) e
   where t.tenant_id = p_tenant_id and t.id = p_task_id and t.task_type = 'bpm:user' and t.state in ('Cancelled', 'Failed');
  if outcome is null then
    r_task := bpm_core.take_user_task(bpm_core.lock_user_task(p_tenant_id, p_task_id), 'Executing', v_actor);
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ThrowUserTaskError', 'task_instance', p_task_id::text);
    outcome := bpm_core.end_task_in_error(r_task, v_error, bpm_core.decode_variables(coalesce(p_variables, '{}')), false);
  end if;
  return query
  select p_task_id, outcome, w.status::text
    from bpm_core.task_instance t
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_tenant_id and t.id = p_task_id;
end
$$;

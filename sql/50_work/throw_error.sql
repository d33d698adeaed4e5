-- Ends a task with a BPMN error: the nearest error boundary that catches the code takes the token; without one it is an incident.
-- While the instance is suspended the error is kept; the boundary takes the token on resume.
-- Returns:  one row: task_id, outcome (Done caught, Failed not caught), instance_status.
-- Raises:   BP403, BP404, BP409 answered before, BP410 lease lost, BP422 bad code or variables.
-- Writes:   task_instance, execution, workflow_instance, history_event, and what the path ahead writes.
create or replace function bpm.throw_error(
  p_task_id uuid, p_fencing_token bigint, p_error_code text, p_message text default null, p_variables jsonb default '{}', p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  -- The attempt keeps all that was said, so that a repeat can be told from another answer.
  v_error jsonb := jsonb_build_object('code', p_error_code, 'message', p_message)
                   || case when coalesce(p_variables, '{}') = '{}' then '{}' else jsonb_build_object('variables', p_variables) end;
  r_task      bpm_core.task_instance;
  v_suspended uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  if coalesce(length(btrim(p_error_code)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP422', 'An error code has 1 to 200 characters.', jsonb_build_object('code', p_error_code));
  elsif bpm_core.variables_fault(coalesce(p_variables, '{}')) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  v_suspended := bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  select t.* into r_task from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_task_id;
  task_id := p_task_id;
  if r_task.state = 'Executing' and r_task.fencing_token = p_fencing_token and r_task.lease_until > bpm_core.now() then
    outcome := bpm_core.end_task_in_error(r_task, v_error, bpm_core.decode_variables(coalesce(p_variables, '{}')),
                                          cardinality(v_suspended) > 0);
  else
    outcome := bpm_core.failure_outcome(p_tenant_id, row(1, p_task_id, p_fencing_token, v_error, false, null)::bpm_core.failure);
    if outcome not in ('Done', 'Failed') then
      perform bpm_core.raise_outcome('task', p_task_id, outcome, 'Done');
    end if;
  end if;
  instance_status := (select w.status::text from bpm_core.workflow_instance w where w.tenant_id = r_task.tenant_id and w.id = r_task.workflow_instance_id);
  return next;
end
$$;

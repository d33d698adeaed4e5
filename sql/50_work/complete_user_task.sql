-- A person completes a user task: the variables named are patched, the token goes on. An unclaimed one is claimed by completing it.
-- p_evidence, p_facts: as in complete_tasks. p_fencing_token: the one the form was opened with, to be refused when the task has changed hands since.
-- Returns:  one row: task_id, outcome Completed (also for an unchanged repeat by the same person), instance_status.
-- Raises:   BP403 no grant, or excluded by the task's exclusion rule; BP404, BP409 somebody else holds it, it is delegated, the form is stale (detail: what it is now), or it was completed with something else, or is closed; a subject is at another version
--           than expected, or evidence was purged; BP422 variables, evidence or facts refused, or the variables do not meet the result schema; BP423 suspended.
-- Writes:   as an ordinary step, and audit_event. Locks: workflow_instance, then task_instance, then subject.
create or replace function bpm.complete_user_task(
  p_task_id uuid, p_variables jsonb default '{}', p_actor text default null, p_evidence jsonb default null, p_facts jsonb default null,
  p_fencing_token bigint default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  v_record   jsonb := bpm_core.record_of(p_evidence, p_facts);
  v_accepted bpm_core.accepted;
  r_task     bpm_core.task_instance;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  p_variables := coalesce(p_variables, '{}');
  if bpm_core.variables_fault(p_variables) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  elsif v_record is not null and bpm_core.record_fault(v_record) is not null then
    perform bpm_core.fail('BP422', bpm_core.record_fault(v_record));
  end if;
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  if not bpm_core.is_completed_by(p_tenant_id, p_task_id, v_actor, p_variables, v_record) then
    r_task := bpm_core.lock_user_task(p_tenant_id, p_task_id);
    perform bpm_core.check_form(r_task, p_fencing_token);
    v_accepted := bpm_core.answer_user_task(r_task, p_variables, v_actor, v_record);
    if v_accepted.task_id is not null then
      perform bpm_core.continue_accepted(p_tenant_id, array[v_accepted]);
    end if;
  end if;
  return query
  select p_task_id, 'Completed'::bpm.outcome, w.status::text
    from bpm_core.task_instance t
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_tenant_id and t.id = p_task_id;
end
$$;

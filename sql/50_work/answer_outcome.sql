-- What to tell a worker whose answer was not accepted now: an unchanged repeat gets the first answer, anything else says why.
-- Returns:  outcome.
create or replace function bpm_core.answer_outcome(p_tenant_id text, p_answer bpm_core.answer)
returns bpm.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task bpm_core.task_instance;
  v_hash bytea;
begin
  select t.* into r_task from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_answer.task_id;
  if not found then
    return 'NotFound'::bpm.outcome;
  elsif p_answer.variables is null then
    return 'Rejected'::bpm.outcome;
  elsif p_answer.refusal is not null then
    return p_answer.refusal;
  elsif r_task.checks_result and bpm_core.rejection(p_tenant_id, p_answer) is not null then
    return 'Rejected'::bpm.outcome;
  elsif r_task.state = 'Executing' and r_task.fencing_token = p_answer.fencing_token and r_task.lease_until > bpm_core.now() then
    -- One before it in this call was rejected.
    return 'WrongState'::bpm.outcome;
  elsif r_task.state = 'Cancelled' then
    return 'Cancelled'::bpm.outcome;
  elsif r_task.fencing_token <> p_answer.fencing_token or r_task.state in ('Executing', 'Ready', 'Held') then
    return 'LeaseLost'::bpm.outcome;
  elsif r_task.state = 'Completed' then
    select r.content_hash into v_hash
      from bpm_core.result r
     where r.tenant_id = r_task.tenant_id and r.task_instance_id = r_task.id and r.attempt = r_task.attempt;
    return case when v_hash = p_answer.content_hash then 'Completed' else 'Conflict' end::bpm.outcome;
  end if;
  return 'WrongState'::bpm.outcome;
end
$$;

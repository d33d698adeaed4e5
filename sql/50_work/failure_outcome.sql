-- What to tell a worker of the failure it reported: what the attempt its token names ended with, also when others have tried since.
-- Something else than it said then is a conflict; an attempt that ended otherwise is lost.
-- Returns:  outcome.
create or replace function bpm_core.failure_outcome(p_tenant_id text, p_failure bpm_core.failure)
returns bpm.outcome
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_state bpm_core.task_state;
  r_run   bpm_core.execution;
begin
  select t.state into v_state from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_failure.task_id;
  if not found then
    return 'NotFound'::bpm.outcome;
  end if;
  select e.* into r_run
    from bpm_core.execution e
   where e.tenant_id = p_tenant_id and e.task_instance_id = p_failure.task_id and e.fencing_token = p_failure.fencing_token;
  return case
    when r_run.state = 'Failed' and r_run.error = p_failure.error then r_run.outcome
    when r_run.state in ('Failed', 'Succeeded') then 'Conflict'::bpm.outcome
    when v_state = 'Cancelled' then 'Cancelled'::bpm.outcome
    else 'LeaseLost'::bpm.outcome end;
end
$$;

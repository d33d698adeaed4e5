-- Completes one task. The single form of complete_tasks: what is an outcome there is an error here. p_verdict, p_reasons: NeedsReview, and why.
-- Returns:  one row: task_id, outcome Completed (also for an unchanged repeat), instance_status.
-- Raises:   BP404 no such task; BP409 completed before with another answer, a subject is at another version than expected, or evidence was purged; BP410 the lease is lost; BP422 variables, result,
--           evidence, facts or verdict refused, or the result does not meet the schema of its task (then nothing is kept: complete_tasks keeps it); else as complete_tasks.
create or replace function bpm.complete_task(
  p_task_id uuid, p_fencing_token bigint, p_variables jsonb default '{}', p_result jsonb default null, p_evidence jsonb default null, p_facts jsonb default null,
  p_verdict text default null, p_reasons jsonb default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_done   record;
  v_record jsonb := bpm_core.record_of(p_evidence, p_facts, to_jsonb(p_verdict), p_reasons);
begin
  select c.* into r_done
    from bpm.complete_tasks(
      jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('task_id', p_task_id, 'fencing_token', p_fencing_token)) ||
        jsonb_build_object('variables', p_variables) || case when p_result is null then '{}' else jsonb_build_object('result', p_result) end
        || coalesce(v_record, '{}')),
      p_tenant_id) c;
  if r_done.outcome <> 'Completed' then
    perform bpm_core.raise_outcome('task', p_task_id, r_done.outcome, 'Completed',
      coalesce(r_done.message, bpm_core.record_trouble(p_tenant_id, p_task_id, v_record)));
  end if;
  return query select r_done.task_id, r_done.outcome, r_done.instance_status;
end
$$;

-- Says that one attempt failed. The single form of fail_tasks.
-- Returns:  one row: task_id, outcome (Retrying or Failed), next_attempt_at.
-- Raises:   BP404, BP409, BP410 lease lost; else as fail_tasks.
create or replace function bpm.fail_task(
  p_task_id uuid, p_fencing_token bigint, p_error jsonb, p_retryable boolean default true, p_retry_in interval default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, next_attempt_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_done record;
begin
  select f.* into r_done
    from bpm.fail_tasks(
      jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'task_id', p_task_id, 'fencing_token', p_fencing_token, 'retryable', p_retryable, 'retry_in_seconds', extract(epoch from p_retry_in)))
        || jsonb_build_object('error', p_error)),
      p_tenant_id) f;
  if r_done.outcome <> 'Retrying' then
    perform bpm_core.raise_outcome('task', p_task_id, r_done.outcome, 'Failed');
  end if;
  return query select r_done.task_id, r_done.outcome, r_done.next_attempt_at;
end
$$;

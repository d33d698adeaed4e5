-- Says that attempts failed. With attempts left the task is ready again after its backoff, else it becomes a dead letter and an incident.
-- p_items: [{"task_id", "fencing_token", "error": text or object, "retryable": true, "retry_in_seconds": n}], at most 1,000.
-- Returns:  one row per item: item, task_id, outcome (Retrying, Failed; also for an unchanged repeat; LeaseLost, Cancelled, Conflict, NotFound), next_attempt_at.
-- Raises:   BP400 ill-formed items, BP403, BP429.
-- Writes:   task_instance, execution, history_event; when exhausted token, incident, dead_letter.
-- Locks:    workflow_instance, then task_instance, both sorted.
create or replace function bpm.fail_tasks(p_items jsonb, p_tenant_id text default '')
returns table (item integer, task_id uuid, outcome bpm.outcome, next_attempt_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_failures bpm_core.failure[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_failures := bpm_core.parse_failures(p_items);
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array(select f.task_id from unnest(v_failures) f));
  perform bpm_core.settle_failures(p_tenant_id, v_failures, false, bpm_core.now());
  -- Every item is answered from the attempt its token names; only that of the attempt which failed hears when the next begins.
  return query
  select f.item, f.task_id, o.outcome, case when o.outcome = 'Retrying' and t.state = 'Ready' then t.available_at end
    from (select p_tenant_id as tenant_id, f.item, f.task_id, f as failure from unnest(v_failures) f offset 0) f
   cross join lateral bpm_core.failure_outcome(f.tenant_id, f.failure) o(outcome)
    left join bpm_core.task_instance t on t.tenant_id = f.tenant_id and t.id = f.task_id
   order by f.item;
end
$$;

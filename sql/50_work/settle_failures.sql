-- Under the locks: ends attempts that failed (reported, p_expired false) or whose lease ran out (p_expired true).
-- With attempts left the task is Ready again after its backoff (Held, where the instance is suspended); else task and token are Failed with a
-- dead letter and an incident, or a saga undoes what was done.
-- Returns:  the tasks touched, as they are now.
-- Writes:   task_instance, execution, history_event, quota_slot; for exhausted ones token, incident, dead_letter, or what compensate_failures writes.
create or replace function bpm_core.settle_failures(p_tenant_id text, p_failures bpm_core.failure[], p_expired boolean, p_now timestamptz)
returns setof bpm_core.task_instance
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_settled   bpm_core.task_instance[];
  v_exhausted uuid[];
  v_bounded   uuid[];
begin
  with failed as materialized (
    select distinct on (f.task_id) f.tenant_id, f.task_id, f.error, f.retryable, f.retry_in, t.worker_id, t.claimed_at, t.lease_until,
           coalesce(f.retry_in, bpm_core.retry_delay(v.version, t.attempt)) as delay, w.status = 'Suspended' as suspended
      from (select p_tenant_id as tenant_id, f.* from unnest(p_failures) f offset 0) f
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = f.tenant_id and t.id = f.task_id offset 0) t
     cross join lateral (select v as version from bpm_core.task_version v where v.tenant_id = t.tenant_id and v.id = t.task_version_id offset 0) v
     cross join lateral (select w.status from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.state = 'Executing' and t.fencing_token = f.fencing_token and (t.lease_until <= p_now) = p_expired
     order by f.task_id, f.item),
  ended as (
    update bpm_core.task_instance t
       set state        = case when not (f.retryable and t.attempt < t.max_attempts) then 'Failed'
                               when f.suspended then 'Held' else 'Ready' end::bpm_core.task_state,
           available_at = case when f.retryable and t.attempt < t.max_attempts then bpm_core.now() + f.delay else t.available_at end,
           worker_id    = case when f.retryable and t.attempt < t.max_attempts then null else t.worker_id end,
           claimed_at   = case when f.retryable and t.attempt < t.max_attempts then null else t.claimed_at end,
           lease_until  = case when f.retryable and t.attempt < t.max_attempts then null else t.lease_until end
      from failed f
     where t.tenant_id = f.tenant_id and t.id = f.task_id
    returning t as task, f.error, f.worker_id, f.claimed_at, f.lease_until),
  executed as (
    insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome, error)
    select p_tenant_id, (e.task).id, (e.task).attempt, e.worker_id, (e.task).fencing_token, e.claimed_at, e.lease_until, p_now,
           case when p_expired then 'Expired' else 'Failed' end::bpm_core.execution_state,
           case when (e.task).state = 'Failed' then 'Failed' else 'Retrying' end::bpm.outcome, e.error
      from ended e),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
    select p_tenant_id, (e.task).workflow_instance_id, p_now,
           case when (e.task).state = 'Failed' then 'TaskFailed' else 'TaskRetried' end::bpm_core.history_kind,
           (e.task).token_id, (e.task).node_id, e.worker_id,
           jsonb_build_object('task', (e.task).id, 'attempt', (e.task).attempt, 'expired', p_expired, 'error', e.error)
      from ended e)
  select array_agg(e.task), array_agg((e.task).id) filter (where (e.task).state = 'Failed'),
         array_agg((e.task).id) filter (where (e.task).type_slot is not null or (e.task).tenant_slot is not null)
    into v_settled, v_exhausted, v_bounded
    from ended e;
  if v_bounded is not null then
    perform bpm_core.free_quota_slots(p_tenant_id, v_bounded);
  end if;
  perform bpm_core.wake_sleepers('tasks', p_tenant_id);
  if v_exhausted is not null then
    perform bpm_core.bury_tasks(p_tenant_id, bpm_core.compensate_failures(p_tenant_id, v_exhausted), 'AttemptsExhausted', p_now);
  end if;
  return query select s.* from unnest(v_settled) s;
end
$$;

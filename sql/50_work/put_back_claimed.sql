-- Puts tasks just claimed of suspended instances, or of processes that have ended, back: suspending or cancelling has not come to them yet. They go to the end of the queue, so that a claim
-- never meets the same ones again and again. No instance is locked here, so they are not marked Held: a resume may be on its way.
-- Returns:  claimed_task[], the others. Writes: task_instance, execution, quota_slot.
create or replace function bpm_core.put_back_claimed(p_tenant_id text, p_claimed bpm_core.claimed_task[])
returns bpm_core.claimed_task[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz := bpm_core.now();
  v_bounded uuid[];
begin
  with held as materialized (
    select t.tenant_id, t.id, t.worker_id, t.claimed_at, t.lease_until
      from unnest(p_claimed) c
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = c.task_id offset 0) t
     where c.suspended),
  released as (
    -- Attempts never fall, so the maximum rises instead.
    update bpm_core.task_instance t
       set state = 'Ready', available_at = v_now + interval '1 second', worker_id = null, claimed_at = null, lease_until = null,
           max_attempts = t.max_attempts + 1
      from held h
     where t.tenant_id = h.tenant_id and t.id = h.id
    returning t.id, t.attempt, t.fencing_token, h.worker_id, h.claimed_at, h.lease_until, t.type_slot, t.tenant_slot),
  executed as (
    insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
    select p_tenant_id, r.id, r.attempt, r.worker_id, r.fencing_token, r.claimed_at, r.lease_until, v_now, 'Released', 'Released'
      from released r)
  select array_agg(r.id) into v_bounded from released r where r.type_slot is not null or r.tenant_slot is not null;
  if v_bounded is not null then
    perform bpm_core.free_quota_slots(p_tenant_id, v_bounded);
  end if;
  return array(select c from unnest(p_claimed) c where not c.suspended);
end
$$;

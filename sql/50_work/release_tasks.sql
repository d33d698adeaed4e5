-- Gives leased tasks back unworked, for instance when a worker shuts down: ready again at once, and the attempt does not count against the maximum.
-- p_items: [{"task_id", "fencing_token"}], at most 1,000.
-- Returns:  one row per item: item, task_id, outcome (Released, also for a repeat; LeaseLost, Cancelled, NotFound).
-- Raises:   BP400 ill-formed items, BP403, BP429.
-- Writes:   task_instance, execution, quota_slot.
-- Locks:    workflow_instance, then task_instance, both sorted; the instances for the reason told at extend_leases.
create or replace function bpm.release_tasks(p_items jsonb, p_tenant_id text default '')
returns table (item integer, task_id uuid, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_suspended uuid[];
  v_now       timestamptz;
  v_bounded   uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token}');
  v_suspended := bpm_core.lock_instances_of_tasks(p_tenant_id, array(select (i ->> 'task_id')::uuid from jsonb_array_elements(p_items) i));
  v_now := bpm_core.now();
  with held as materialized (
    select distinct t.tenant_id, t.id, t.worker_id, t.claimed_at, t.lease_until
      from jsonb_array_elements(p_items) i(item)
     cross join lateral (select t.* from bpm_core.task_instance t
                          where t.tenant_id = p_tenant_id and t.id = (i.item ->> 'task_id')::uuid offset 0) t
     where t.state = 'Executing' and t.fencing_token = (i.item ->> 'fencing_token')::bigint and t.lease_until > v_now),
  released as (
    -- Attempts never fall, so the maximum rises instead.
    update bpm_core.task_instance t
       set state = case when t.workflow_instance_id = any (v_suspended) then 'Held' else 'Ready' end::bpm_core.task_state,
           available_at = bpm_core.now(), worker_id = null, claimed_at = null, lease_until = null,
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
  perform bpm_core.wake_sleepers('tasks', p_tenant_id);
  return query
  select i.n::integer, (i.item ->> 'task_id')::uuid,
         case when t.id is null then 'NotFound'
              when e.state = 'Released' then 'Released'
              when t.state = 'Cancelled' then 'Cancelled'
              else 'LeaseLost' end::bpm.outcome
    from (select p_tenant_id as tenant_id, i.* from jsonb_array_elements(p_items) with ordinality i(item, n) offset 0) i
    left join lateral (select t.id, t.state from bpm_core.task_instance t
                        where t.tenant_id = i.tenant_id and t.id = (i.item ->> 'task_id')::uuid offset 0) t on true
    left join lateral (select e.state from bpm_core.execution e
                        where e.tenant_id = i.tenant_id and e.task_instance_id = t.id
                          and e.fencing_token = (i.item ->> 'fencing_token')::bigint offset 0) e on true
   order by i.n;
end
$$;

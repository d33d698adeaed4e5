-- Heartbeat: lengthens leases their caller still holds, from now on.
-- p_items: [{"task_id", "fencing_token"}], at most 1,000. p_lease null: as long as the lease was when claimed by default (the task version's).
-- Returns:  one row per item: item, task_id, outcome (Extended, LeaseLost, Cancelled, NotFound), lease_until.
-- Raises:   BP400 ill-formed items, BP403, BP422 lease out of range, BP429.
-- Writes:   task_instance.
-- Locks:    workflow_instance, then task_instance, both sorted. Without the instances a command that closes other tasks of an instance
--           would stand in a cycle with this one, which holds several of them.
create or replace function bpm.extend_leases(p_items jsonb, p_lease interval default null, p_tenant_id text default '')
returns table (item integer, task_id uuid, outcome bpm.outcome, lease_until timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_now timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token}');
  perform bpm_core.check_picker('extend_leases', 1, p_lease);
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array(select (i ->> 'task_id')::uuid from jsonb_array_elements(p_items) i));
  v_now := bpm_core.now();
  with held as materialized (
    select distinct t.tenant_id, t.id
      from jsonb_array_elements(p_items) i(item)
     cross join lateral (select t.tenant_id, t.id, t.state, t.fencing_token, t.lease_until from bpm_core.task_instance t
                          where t.tenant_id = p_tenant_id and t.id = (i.item ->> 'task_id')::uuid offset 0) t
     where t.state = 'Executing' and t.fencing_token = (i.item ->> 'fencing_token')::bigint and t.lease_until > v_now)
  update bpm_core.task_instance t
     set lease_until = greatest(t.lease_until, v_now + coalesce(p_lease, t.lease))
    from held h
   where t.tenant_id = h.tenant_id and t.id = h.id;
  return query
  select i.n::integer, (i.item ->> 'task_id')::uuid,
         case when t.id is null then 'NotFound'
              when t.state = 'Cancelled' then 'Cancelled'
              when t.state = 'Executing' and t.fencing_token = (i.item ->> 'fencing_token')::bigint and t.lease_until > v_now then 'Extended'
              else 'LeaseLost' end::bpm.outcome,
         case when t.state = 'Executing' and t.fencing_token = (i.item ->> 'fencing_token')::bigint then t.lease_until end
    from (select p_tenant_id as tenant_id, i.* from jsonb_array_elements(p_items) with ordinality i(item, n) offset 0) i
    left join bpm_core.task_instance t on t.tenant_id = i.tenant_id and t.id = (i.item ->> 'task_id')::uuid
   order by i.n;
end
$$;

-- The picker of tasks: locks and leases what is ready in the given slots, slot by slot, oldest first within a slot.
-- p_type_slots, p_tenant_slots: the free slots of quotas they are claimed under, as many as p_limit; null: there is no quota.
-- Returns:  the task rows as leased, with the number of their slot; suspended marks those to be put back (put_back_claimed): their
--           instance is suspended, or their process has ended and what it called is still to be closed. One statement, so that the outer limit stops the walk exactly.
-- Locks:    task_instance, skip locked. Never an instance row.
create or replace function bpm_core.claim_ready_tasks(
  p_tenant_id text, p_worker text, p_slots bpm_core.claim_slot[], p_limit integer, p_lease interval, p_request_id text, p_now timestamptz,
  p_type_slots integer[] default null, p_tenant_slots integer[] default null)
returns setof bpm_core.claimed_task
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return query
  with picked as materialized (
    select l.*, row_number() over () as n
      from (
        select c.tenant_id, c.id, coalesce(s.slot, s.ordinality) as slot
          from unnest(p_slots) with ordinality s(task_type, priority_level, from_at, from_id, slot, until_at, quotas, ordinality)
         cross join lateral (
           select t.tenant_id, t.id
             from bpm_core.task_instance t
            where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = s.task_type and t.priority_level = s.priority_level
              and t.available_at <= coalesce(s.until_at, p_now) and (t.available_at, t.id) > (s.from_at, s.from_id)
            order by t.available_at, t.id
            limit p_limit
              for no key update skip locked) c
         limit p_limit) l),
  leased as (
    update bpm_core.task_instance t
       set state = 'Executing', attempt = t.attempt + 1, fencing_token = t.fencing_token + 1, worker_id = p_worker, claimed_at = p_now,
           lease_until = p_now + coalesce(p_lease, t.lease), claim_request_id = p_request_id, type_slot = p_type_slots[p.n], tenant_slot = p_tenant_slots[p.n]
      from picked p
     where t.tenant_id = p.tenant_id and t.id = p.id
    returning t.tenant_id, t.id, t.workflow_instance_id, t.scope_id, t.node_id, t.task_type, t.available_at, t.attempt, t.fencing_token, t.lease_until, t.input,
              t.headers, p.slot, p.n)
  select l.slot::integer, l.available_at, l.id, w.process_instance_id, l.workflow_instance_id, p.business_key, l.node_id, l.task_type, l.attempt, l.fencing_token,
         l.lease_until, bpm_core.offered_variables(l.tenant_id, l.scope_id, coalesce(w.inputs, p.variables), w.variables, l.input),
         coalesce(l.headers, '{}'), w.status = 'Suspended' or p.status <> 'Running'
    from leased l
   cross join lateral (select w.tenant_id, w.process_instance_id, w.inputs, w.variables, w.status from bpm_core.workflow_instance w
                        where w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id offset 0) w
   cross join lateral (select p.business_key, p.variables, p.status from bpm_core.process_instance p
                        where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
   order by l.n;
end
$$;

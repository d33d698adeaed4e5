-- Locks workflow instances, all at once and in the order of their ids: the first act of every command (law 1).
-- A statement of its own: what follows must take its snapshot after the lock is held, and the order of an UPDATE belongs to the planner.
-- The keys are sorted first and each row is locked by its primary key, so neither the order nor the plan can be another.
-- Returns:  uuid[], those of them that are suspended; unknown ids lock nothing. Locks: workflow_instance, for no key update.
create or replace function bpm_core.lock_instances(p_tenant_id text, p_instances uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  -- The status of a locked row is its latest. Filtered in the aggregate: a condition could be pushed below the lock.
  return (
    select coalesce(array_agg(w.id) filter (where w.status = 'Suspended'), '{}')
      from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_instances) k(id) order by k.id offset 0) k
     cross join lateral (
       select w.id, w.status
         from bpm_core.workflow_instance w
        where w.tenant_id = k.tenant_id and w.id = k.id
          for no key update) w);
end
$$;

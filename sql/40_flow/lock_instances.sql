-- Locks workflow instances, all at once and in the order of their ids: the first act of every command (law 1).
-- A statement of its own: what follows must take its snapshot after the lock is held, and the order of an UPDATE belongs to the planner.
-- Returns:  nothing; unknown ids lock nothing. Locks: workflow_instance, for no key update.
create or replace function bpm_core.lock_instances(p_tenant_id text, p_instances uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform 1
     from bpm_core.workflow_instance w
    where w.tenant_id = p_tenant_id
      and w.id = any (p_instances)
    order by w.id
      for no key update;
end
$$;

-- Locks tasks in the order of their ids, after their instances: the second act of every command on tasks.
-- Returns:  nothing. Locks: task_instance, for no key update.
create or replace function bpm_core.lock_tasks(p_tenant_id text, p_tasks uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform 1
     from bpm_core.task_instance t
    where t.tenant_id = p_tenant_id and t.id = any (p_tasks)
    order by t.id
      for no key update;
end
$$;

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
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) order by k.id offset 0) k
    cross join lateral (
      select
        from bpm_core.task_instance t
       where t.tenant_id = k.tenant_id and t.id = k.id
         for no key update) t;
end
$$;

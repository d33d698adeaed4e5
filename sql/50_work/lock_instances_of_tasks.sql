-- Locks the instances of tasks and then the tasks. A task's instance never changes and may be read without a lock.
-- The keys are sorted first and each row is locked by its primary key, as in lock_instances.
-- Returns:  uuid[], those of the instances that are suspended. Locks: workflow_instance, then task_instance.
create or replace function bpm_core.lock_instances_of_tasks(p_tenant_id text, p_tasks uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_suspended uuid[];
begin
  -- The status of a locked row is its latest. Filtered in the aggregate: a condition could be pushed below the lock.
  v_suspended := (
    select coalesce(array_agg(w.id) filter (where w.status = 'Suspended'), '{}')
      from (select distinct t.tenant_id, t.workflow_instance_id as id
              from (select p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) offset 0) k
             cross join lateral (
               select t.tenant_id, t.workflow_instance_id from bpm_core.task_instance t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
             order by t.workflow_instance_id offset 0) k
     cross join lateral (
       select w.id, w.status
         from bpm_core.workflow_instance w
        where w.tenant_id = k.tenant_id and w.id = k.id
          for no key update) w);
  perform bpm_core.lock_tasks(p_tenant_id, p_tasks);
  return v_suspended;
end
$$;

-- Locks the instances of tasks and then the tasks. A task's instance never changes and may be read without a lock.
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
  v_suspended := bpm_core.lock_instances(p_tenant_id, array(
    select t.workflow_instance_id
      from (select p_tenant_id as tenant_id, k.* from unnest(p_tasks) k(id) offset 0) k
      join bpm_core.task_instance t on t.tenant_id = k.tenant_id and t.id = k.id));
  perform bpm_core.lock_tasks(p_tenant_id, p_tasks);
  return v_suspended;
end
$$;

-- The tasks of workflow instances.
-- Returns:  uuid[].
create or replace function bpm_core.tasks_of(p_tenant_id text, p_workflows uuid[])
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select t.id
      from unnest(p_workflows) i(id)
     cross join lateral (select t.id, t.tenant_id from bpm_core.task_instance t where t.workflow_instance_id = i.id offset 0) t
     where t.tenant_id = p_tenant_id);
end
$$;

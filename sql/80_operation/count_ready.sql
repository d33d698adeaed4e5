-- How many tasks of each type are ready, each counted to p_cap at most.
-- Returns:  jsonb {task type: count}, at most 100 types.
create or replace function bpm_core.count_ready(p_tenant_id text, p_cap integer)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(y.task_type, n.tasks), '{}')
    from bpm_core.ready_types(p_tenant_id, 100) y(task_type)
   cross join lateral (
     select count(*) as tasks
       from (select from bpm_core.task_instance t
              where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = y.task_type
              limit p_cap) c) n
$$;

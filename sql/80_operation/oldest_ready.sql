-- Since when has the oldest ready task waited? One index probe per task type and priority.
-- Returns:  timestamptz, null when nothing is ready.
create or replace function bpm_core.oldest_ready(p_tenant_id text)
returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select min(c.available_at)
    from bpm_core.ready_types(p_tenant_id, 1000) y(task_type)
   cross join generate_series(0, 2) l(level)
   cross join lateral (
     select t.available_at
       from bpm_core.task_instance t
      where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = y.task_type and t.priority_level = l.level
      order by t.available_at
      limit 1) c
$$;

-- When does the next task of these types become ready after p_after?
-- Returns:  timestamptz, null when none is planned.
create or replace function bpm_core.next_task_due(p_tenant_id text, p_types text[], p_after timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return (
    select min(c.available_at)
      from unnest(p_types) y(task_type)
     cross join generate_series(0, 2) l(level)
     cross join lateral (
       select t.available_at
         from bpm_core.task_instance t
        where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = y.task_type and t.priority_level = l.level and t.available_at > p_after
        order by t.available_at
        limit 1) c);
end
$$;

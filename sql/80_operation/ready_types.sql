-- The task types that have ready tasks: hops from type to type along the claim index instead of walking it.
-- Returns:  setof text, at most p_limit.
create or replace function bpm_core.ready_types(p_tenant_id text, p_limit integer)
returns setof text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive hop(task_type) as (
    (select t.task_type
       from bpm_core.task_instance t
      where t.state = 'Ready' and t.tenant_id = p_tenant_id
      order by t.task_type
      limit 1)
    union all
    select (select t.task_type
              from bpm_core.task_instance t
             where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type > h.task_type
             order by t.task_type
             limit 1)
      from hop h
     where h.task_type is not null)
  select h.task_type
    from hop h
   where h.task_type is not null
   limit p_limit
$$;

-- The published task version each task type is pinned to at deploy: of the definition that carries the type's name, else the youngest.
-- Returns:  one row per type that has one.
create or replace function bpm_core.pinned_tasks(p_tenant_id text, p_types text[])
returns table (task_type text, task_version_id uuid, max_attempts integer, lease interval, approval_required boolean, input_schema jsonb, checks_result boolean,
               executor_kind bpm_core.executor_kind)
language sql stable
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
  select distinct on (v.task_type) v.task_type, v.id, v.max_attempts, v.lease, v.approval_required,
         v.input_schema, nullif(v.result_schema is not null, false), v.executor_kind
    from bpm_core.task_definition d
    join bpm_core.task_version v on v.tenant_id = d.tenant_id and v.id = d.published_version_id
   where d.tenant_id = p_tenant_id and v.task_type = any (p_types) and d.archived_at is null
   order by v.task_type, d.code = v.task_type desc, v.published_at desc, v.id desc
$$;

-- The task types whose steps need approval before they become work: listed in the setting, or published so. Read at deploy only.
create or replace function bpm_core.approval_types(p_tenant_id text)
returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(x.task_type), '{}')
    from (select jsonb_array_elements_text(bpm_core.setting_value('engine.approval_required_task_types', '[]')) as task_type
          union
          select v.task_type
            from bpm_core.task_definition d
            join bpm_core.task_version v on v.tenant_id = d.tenant_id and v.id = d.published_version_id
           where d.tenant_id = p_tenant_id and v.approval_required) x
$$;

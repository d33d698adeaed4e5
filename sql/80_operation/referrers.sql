-- Who refers to a definition or one of its versions, by key or by name.
-- Returns:  rows: kind and code, with the version where it is one, or with how many (of instances: up to 1,000).
create or replace function bpm_core.referrers(p_tenant_id text, p_kind text, p_code text, p_id uuid)
returns table (kind text, code text, version integer, times bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'workflow', d.code, w.version, null::bigint
    from bpm_core.role_version r
    join bpm_core.workflow_version w on w.tenant_id = r.tenant_id and w.owner_role_version_id = r.id
    join bpm_core.workflow_definition d on d.tenant_id = w.tenant_id and d.id = w.definition_id
   where p_kind = 'role' and r.tenant_id = p_tenant_id and r.definition_id = p_id
  union
  select 'workflow', d.code, w.version, null
    from bpm_core.task_version t
    join bpm_core.workflow_task_binding b on b.tenant_id = t.tenant_id and b.task_version_id = t.id
    join bpm_core.workflow_version w on w.tenant_id = b.tenant_id and w.id = b.workflow_version_id
    join bpm_core.workflow_definition d on d.tenant_id = w.tenant_id and d.id = w.definition_id
   where p_kind = 'task' and t.tenant_id = p_tenant_id and t.definition_id = p_id
  union
  select 'process', d.code, v.version, null
    from bpm_core.workflow_version w
    join bpm_core.process_workflow_binding b on b.tenant_id = w.tenant_id and b.workflow_version_id = w.id
    join bpm_core.process_version v on v.tenant_id = b.tenant_id and v.id = b.process_version_id
    join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
   where p_kind = 'workflow' and w.tenant_id = p_tenant_id and w.definition_id = p_id
  union
  -- Also what was moved to another version since: its tasks remember where they were.
  select 'migration of an instance', null, null, count(*)
    from bpm_core.workflow_version w
    join bpm_core.instance_migration m on m.tenant_id = w.tenant_id and w.id in (m.from_version_id, m.to_version_id)
   where p_kind = 'workflow' and w.tenant_id = p_tenant_id and w.definition_id = p_id
  having count(*) > 0
  union
  select 'process instance', null, null, count(*)
    from (select from bpm_core.process_version v
            join bpm_core.process_instance p on p.tenant_id = v.tenant_id and p.process_version_id = v.id
           where p_kind = 'process' and v.tenant_id = p_tenant_id and v.definition_id = p_id
           limit 1000) p
  having count(*) > 0
  union
  select 'workflow', d.code, w.version, null
    from bpm_core.workflow_node n
    join bpm_core.workflow_version w on w.tenant_id = n.tenant_id and w.id = n.workflow_version_id
    join bpm_core.workflow_definition d on d.tenant_id = w.tenant_id and d.id = w.definition_id
   where p_kind = 'process' and n.tenant_id = p_tenant_id and n.kind = 'CallActivity' and n.expressions #> '{call,code}' = jsonb_build_object('op', 'value', 'value', p_code)
     -- Not by its own workflow, which calls itself.
     and not exists (select
                       from bpm_core.process_workflow_binding b
                       join bpm_core.process_version v on v.tenant_id = b.tenant_id and v.id = b.process_version_id
                      where b.tenant_id = w.tenant_id and b.workflow_version_id = w.id and v.definition_id = p_id)
  union
  select 'routing rule', r.code, null, null
    from bpm_core.routing_rule r
   where p_kind = 'process' and r.tenant_id = p_tenant_id and r.process_code = p_code
$$;

-- The version a start runs: the published one, or the published one named. Archived processes start nothing.
-- In SQL, so that it is inlined into the statement that asks.
-- Returns:  no row when there is none. Of a process of several workflows (is_several) the one that begins first.
create or replace function bpm_core.startable_version(p_tenant_id text, p_code text, p_version integer)
returns table (process_version_id uuid, workflow_version_id uuid, role_version_id uuid, start_node_id text, is_several boolean)
language sql stable rows 1
as $$
  select v.id, b.workflow_version_id, w.owner_role_version_id, n.node_id, b.is_several
    from bpm_core.process_definition d
   cross join lateral (
     select v.tenant_id, v.id
       from bpm_core.process_version v
      where v.tenant_id = d.tenant_id and v.definition_id = d.id
        and case when p_version is null then v.id = d.published_version_id else v.version = p_version and v.status = 'Published' end
     offset 0) v
   cross join lateral (
     select b.tenant_id, b.workflow_version_id, bool_or(b.binding_key <> 'main' or b.start_source is not null) over () as is_several
       from bpm_core.process_workflow_binding b
      where b.tenant_id = v.tenant_id and b.process_version_id = v.id
      order by b.depends_on <> '{}', b.position
      limit 1) b
   cross join lateral (
     select w.owner_role_version_id from bpm_core.workflow_version w where w.tenant_id = b.tenant_id and w.id = b.workflow_version_id offset 0) w
   cross join lateral (
     select n.node_id
       from bpm_core.workflow_node n
      where n.tenant_id = b.tenant_id and n.workflow_version_id = b.workflow_version_id and n.kind = 'StartEvent' and n.scope_node_id is null
      limit 1) n
   where d.code = p_code and d.tenant_id = p_tenant_id and d.archived_at is null
$$;

-- The version a start runs: the published one, or the published one named. Archived processes start nothing.
-- In SQL, so that it is inlined into the statement that asks.
-- Returns:  no row when there is none. Of a process of several workflows (is_several) the one that begins first.
create or replace function bpm_core.startable_version(p_tenant_id text, p_code text, p_version integer)
returns table (process_version_id uuid, workflow_version_id uuid, role_version_id uuid, start_node_id text, is_several boolean)
language sql stable rows 1
as $$
  select v.id, v.first_workflow_version_id, w.owner_role_version_id, w.start_node_id, v.is_several
    from bpm_core.process_definition d
   cross join lateral (
     select v.tenant_id, v.id, v.first_workflow_version_id, v.is_several
       from bpm_core.process_version v
      where v.tenant_id = d.tenant_id
        and v.id = case when p_version is null then d.published_version_id
                        else (select o.id from bpm_core.process_version o
                               where o.definition_id = d.id and o.version = p_version and o.tenant_id = d.tenant_id and o.status = 'Published') end
     offset 0) v
   cross join lateral (
     select w.owner_role_version_id, w.start_node_id from bpm_core.workflow_version w
      where w.tenant_id = v.tenant_id and w.id = v.first_workflow_version_id and w.start_node_id is not null offset 0) w
   where d.code = p_code and d.tenant_id = p_tenant_id and d.archived_at is null
$$;

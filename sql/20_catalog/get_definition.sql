-- One version of a process, with its graph.
-- Returns:  one row; graph is {nodes, flows, tasks} of its workflow main, content_hash in hex.
-- Raises:   BP404 no such process or version. BP403.
create or replace function bpm.get_definition(p_code text, p_version integer default null, p_tenant_id text default '')
returns table (code text, version integer, status text, name text, is_current boolean, content_hash text, created_by text, published_at timestamptz, graph jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return query
    select d.code, v.version, v.status::text, v.name, d.published_version_id = v.id, encode(v.content_hash, 'hex'), v.created_by, v.published_at, w.graph
      from bpm_core.process_version v
      join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
      join bpm_core.process_workflow_binding b on b.tenant_id = v.tenant_id and b.process_version_id = v.id and b.binding_key = 'main'
      join bpm_core.workflow_version w on w.tenant_id = b.tenant_id and w.id = b.workflow_version_id
     where v.tenant_id = p_tenant_id and v.id = bpm_core.find_version(p_tenant_id, p_code, p_version);
end
$$;

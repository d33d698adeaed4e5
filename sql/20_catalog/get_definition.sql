-- One version of a process, with what it binds.
-- Returns:  one row; graph is {nodes, flows, tasks} of its workflow, of several the first; content_hash in hex; bindings: [{binding_key, position, workflow,
--           version, owner_role, owner_role_version, depends_on, start_condition, graph}].
-- Raises:   BP404 no such process or version. BP403.
create or replace function bpm.get_definition(p_code text, p_version integer default null, p_tenant_id text default '')
returns table (code text, version integer, status text, name text, is_current boolean, content_hash text, created_by text, published_at timestamptz, graph jsonb, bindings jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return query
    select d.code, v.version, v.status::text, v.name, coalesce(d.published_version_id = v.id, false), encode(v.content_hash, 'hex'), v.created_by, v.published_at,
           b.bindings #> '{0,graph}', b.bindings
      from bpm_core.process_version v
      join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
     cross join lateral (
       select jsonb_agg(jsonb_build_object(
                'binding_key', b.binding_key, 'position', b.position, 'workflow', w.code, 'version', x.version, 'owner_role', o.code,
                'owner_role_version', r.version, 'depends_on', b.depends_on, 'start_condition', b.start_source, 'graph', x.graph) order by b.position) as bindings
         from bpm_core.process_workflow_binding b
         join bpm_core.workflow_version x on x.tenant_id = b.tenant_id and x.id = b.workflow_version_id
         join bpm_core.workflow_definition w on w.tenant_id = x.tenant_id and w.id = x.definition_id
         join bpm_core.role_version r on r.tenant_id = x.tenant_id and r.id = x.owner_role_version_id
         join bpm_core.role_definition o on o.tenant_id = r.tenant_id and o.id = r.definition_id
        where b.tenant_id = v.tenant_id and b.process_version_id = v.id) b
     where v.tenant_id = p_tenant_id and v.id = bpm_core.find_version(p_tenant_id, p_code, p_version);
end
$$;

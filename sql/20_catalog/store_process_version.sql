-- Stores a process version that binds these workflow versions, unless an older one that is not deprecated is identical, which then becomes the
-- current one again. The caller has checked the bindings and holds the lock of the process_definition row.
-- p_bindings: their tenant and process version are filled in here.
-- Returns:  version, whether it is new, and whether it became the current one now.
-- Raises:   BP503 the process was deleted meanwhile.
-- Writes:   process_version, process_workflow_binding, process_definition, and what publish_starts writes.
create or replace function bpm_core.store_process_version(
  p_tenant_id text, p_code text, p_name text, p_bindings bpm_core.process_workflow_binding[], p_actor text,
  out version integer, out is_new boolean, out moved boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id         uuid;
  v_hash       bytea := bpm_core.process_content_hash(p_name, p_bindings);
  v_definition uuid := bpm_core.kept_definition(
    (select d.id from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.code = p_code), 'process', p_code);
  v_before     uuid := (select d.published_version_id from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.id = v_definition);
begin
  select v.version, v.id into version, v_id
    from bpm_core.process_version v
   where v.tenant_id = p_tenant_id and v.definition_id = v_definition and v.content_hash = v_hash and v.status = 'Published'
   order by v.version desc
   limit 1;
  is_new := version is null;
  if is_new then
    v_id := bpm_core.new_id();
    select coalesce(max(v.version), 0) + 1 into version
      from bpm_core.process_version v where v.tenant_id = p_tenant_id and v.definition_id = v_definition;
    insert into bpm_core.process_version (
      tenant_id, id, definition_id, version, status, content_hash, name, first_workflow_version_id, is_several, created_by, published_at)
    values (
      p_tenant_id, v_id, v_definition, version, 'Published', v_hash, p_name,
      (select b.workflow_version_id from unnest(p_bindings) b order by b.depends_on <> '{}', b.position limit 1),
      exists (select from unnest(p_bindings) b where b.binding_key <> 'main' or b.start_source is not null), p_actor, bpm_core.now());
    insert into bpm_core.process_workflow_binding (
      tenant_id, process_version_id, binding_key, workflow_version_id, position, depends_on, start_condition, start_tree, start_source)
    select p_tenant_id, v_id, b.binding_key, b.workflow_version_id, b.position, b.depends_on, b.start_condition, b.start_tree, b.start_source
      from unnest(p_bindings) b;
  end if;
  update bpm_core.process_definition d
     set published_version_id = v_id, archived_at = null
   where d.tenant_id = p_tenant_id and d.id = v_definition and (d.published_version_id is distinct from v_id or d.archived_at is not null);
  moved := found;
  if moved then
    perform bpm_core.publish_starts(p_tenant_id, v_definition, v_before, v_id);
  end if;
end
$$;

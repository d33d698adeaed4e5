-- Publishes a role version, or an identical older one again. p_definition: checked by role_problem.
-- Returns:  version number, its id, whether it is new, and whether it became the current one now.
-- Writes:   role_definition, role_version.
-- Locks:    the role_definition row: publishers of one role take turns.
create or replace function bpm_core.store_role_version(
  p_tenant_id text, p_code text, p_definition jsonb, p_actor text, out version integer, out version_id uuid, out is_new boolean, out moved boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_definition uuid;
  v_content    jsonb := '{"responsibilities": [], "policy": {}, "capabilities": [], "context_profile": {}}'::jsonb || p_definition;
  v_hash       bytea := sha256(convert_to(v_content::text, 'UTF8'));
begin
  insert into bpm_core.role_definition (tenant_id, id, code, created_at)
  values (p_tenant_id, bpm_core.new_id(), p_code, bpm_core.now())
  on conflict (tenant_id, code) do nothing;
  perform 1 from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.code = p_code for no key update;
  v_definition := bpm_core.kept_definition(
    (select d.id from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.code = p_code), 'role', p_code);
  select v.version, v.id into version, version_id
    from bpm_core.role_version v
   where v.tenant_id = p_tenant_id and v.definition_id = v_definition and v.content_hash = v_hash
   order by v.version desc
   limit 1;
  is_new := version is null;
  if is_new then
    select coalesce(max(v.version), 0) + 1 into version
      from bpm_core.role_version v where v.tenant_id = p_tenant_id and v.definition_id = v_definition;
    version_id := bpm_core.new_id();
    insert into bpm_core.role_version (
      tenant_id, id, definition_id, version, status, content_hash, responsibilities, policy, capabilities, context_profile, created_by, published_at)
    values (
      p_tenant_id, version_id, v_definition, version, 'Published', v_hash, v_content -> 'responsibilities', v_content -> 'policy',
      v_content -> 'capabilities', v_content -> 'context_profile', p_actor, bpm_core.now());
  end if;
  update bpm_core.role_definition d
     set published_version_id = version_id, archived_at = null
   where d.tenant_id = p_tenant_id and d.id = v_definition and (d.published_version_id is distinct from version_id or d.archived_at is not null);
  moved := found;
end
$$;

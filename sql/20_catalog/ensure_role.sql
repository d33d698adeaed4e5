-- The published version of an owner role, published empty if there is none yet.
-- Returns:  uuid of the role version.
-- Writes:   role_definition, role_version.
-- Locks:    the role_definition row, only when it has no version yet.
create or replace function bpm_core.ensure_role(p_tenant_id text, p_code text, p_actor text)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_definition uuid;
  v_version    uuid;
begin
  insert into bpm_core.role_definition (tenant_id, id, code, created_at)
  values (p_tenant_id, bpm_core.new_id(), p_code, bpm_core.now())
  on conflict (tenant_id, code) do nothing;
  select d.id, d.published_version_id into v_definition, v_version
    from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
  if v_version is not null then
    return v_version;
  end if;
  select d.published_version_id into v_version
    from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.id = v_definition for no key update;
  if v_version is null then
    v_version := bpm_core.new_id();
    insert into bpm_core.role_version (tenant_id, id, definition_id, version, status, content_hash, created_by, published_at)
    values (p_tenant_id, v_version, v_definition, 1, 'Published', sha256('{}'), p_actor, bpm_core.now());
    update bpm_core.role_definition d set published_version_id = v_version where d.tenant_id = p_tenant_id and d.id = v_definition;
  end if;
  return v_version;
end
$$;

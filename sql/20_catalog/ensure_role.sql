-- The published version of an owner role a workflow is pinned to. The role called default is published empty if there is none yet.
-- Returns:  uuid of the role version.
-- Raises:   BP422 no such role, or it is archived.
-- Writes:   role_definition, role_version.
-- Locks:    the role_definition row, only when it is made.
create or replace function bpm_core.ensure_role(p_tenant_id text, p_code text, p_actor text)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  r_role    record;
  v_version uuid;
begin
  select d.published_version_id, d.archived_at into r_role from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
  if r_role.published_version_id is not null and r_role.archived_at is null then
    return r_role.published_version_id;
  elsif p_code is distinct from 'default' or r_role.archived_at is not null then
    perform bpm_core.fail('BP422', format('There is no role %L that a workflow could be owned by%s.', left(p_code, 200), case when r_role.archived_at is not null then ': it is archived' end),
      jsonb_build_object('role', left(p_code, 200)), 'Publish it with bpm.publish_role.');
  end if;
  select s.version_id into v_version from bpm_core.store_role_version(p_tenant_id, p_code, '{}', p_actor) s;
  return v_version;
end
$$;

-- The version of a process by code and number; without a number the current one.
-- Returns:  uuid of the process_version.
-- Raises:   BP404 no such process, or no such version of it.
create or replace function bpm_core.find_version(p_tenant_id text, p_code text, p_version integer)
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_definition uuid;
  v_version    uuid;
begin
  select d.id, d.published_version_id into v_definition, v_version
    from bpm_core.process_definition d
   where d.tenant_id = p_tenant_id and d.code = p_code;
  if p_version is not null then
    select v.id into v_version
      from bpm_core.process_version v
     where v.tenant_id = p_tenant_id and v.definition_id = v_definition and v.version = p_version;
  end if;
  if v_version is null or v_definition is null then
    perform bpm_core.fail('BP404',
      case when v_definition is not null and p_version is null then format('Process %L has no current version.', p_code)
           else format('There is no %sprocess %L.', case when p_version is not null then format('version %s of ', p_version) end, p_code) end,
      jsonb_build_object('code', p_code, 'version', p_version), 'See the view bpm.definition.');
  end if;
  return v_version;
end
$$;

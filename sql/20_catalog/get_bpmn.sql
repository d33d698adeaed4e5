-- The BPMN file a version was deployed from, byte for byte.
-- Returns:  text.
-- Raises:   BP404 no such process or version. BP403.
create or replace function bpm.get_bpmn(p_code text, p_version integer default null, p_tenant_id text default '')
returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return (
    select w.bpmn_xml
      from bpm_core.process_workflow_binding b
      join bpm_core.workflow_version w on w.tenant_id = b.tenant_id and w.id = b.workflow_version_id
     where b.tenant_id = p_tenant_id and b.process_version_id = bpm_core.find_version(p_tenant_id, p_code, p_version) and b.binding_key = 'main');
end
$$;

-- The BPMN file a version was deployed from, byte for byte; of a process with several workflows that of one of its bindings.
-- p_binding_key: null: the first.
-- Returns:  text.
-- Raises:   BP404 no such process, version or binding. BP403.
create or replace function bpm.get_bpmn(p_code text, p_version integer default null, p_binding_key text default null, p_tenant_id text default '')
returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  r_binding record;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  select w.bpmn_xml into r_binding
    from bpm_core.process_workflow_binding b
    join bpm_core.workflow_version w on w.tenant_id = b.tenant_id and w.id = b.workflow_version_id
   where b.tenant_id = p_tenant_id and b.process_version_id = bpm_core.find_version(p_tenant_id, p_code, p_version)
     and b.binding_key = coalesce(p_binding_key, b.binding_key)
   order by b.position
   limit 1;
  if not found then
    perform bpm_core.fail('BP404', format('Process %L has no binding %L.', p_code, left(p_binding_key, 200)), null, 'bpm.get_definition lists them.');
  end if;
  return r_binding.bpmn_xml;
end
$$;

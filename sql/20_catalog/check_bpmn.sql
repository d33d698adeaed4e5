-- Says what deploy_bpmn would say of a file, and stores nothing.
-- Returns:  one row per fault and warning, faults first; none when the file is fine.
-- Raises:   BP400 null. BP403.
create or replace function bpm.check_bpmn(p_xml text, p_strict boolean default false, p_tenant_id text default '')
returns table (severity text, code text, message text, node_id text, flow_id text, line integer, hint text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if p_xml is null then
    perform bpm_core.fail('BP400', 'check_bpmn needs the text of a BPMN file.');
  end if;
  return query
    select f.severity, f.code, f.message, f.node_id, f.flow_id, f.line, f.hint
      from unnest((select c.findings from bpm_core.compile_text(p_xml, p_strict, p_tenant_id) c)) f;
end
$$;

-- Reader and compiler in a row, for a whole file.
-- Returns:  what compile_bpmn returns, findings with lines, faults first, in the order of the file.
create or replace function bpm_core.compile_text(
  p_xml text, p_strict boolean, p_tenant_id text,
  out processes bpm_core.draft_process[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[], out findings bpm_core.finding[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
declare
  v_elements bpm_core.bpmn_element[];
begin
  processes := '{}';
  nodes := '{}';
  flows := '{}';
  select r.elements, r.findings into v_elements, findings from bpm_core.read_bpmn(p_xml) r;
  if cardinality(findings) > 0 then
    return;
  end if;
  select c.processes, c.nodes, c.flows, c.findings into processes, nodes, flows, findings
    from bpm_core.compile_bpmn(v_elements, coalesce(p_strict, false), p_tenant_id) c;
  if cardinality(findings) > 0 then
    findings := bpm_core.locate_findings(p_xml, findings);
  end if;
end
$$;

-- Compiles a file and picks one of its processes. p_process_id: null when it holds one that is deployed.
-- Returns:  that process, with the nodes and flows of the file, and its warnings.
-- Raises:   BP422 the file has faults; it holds no such process; it holds several and none is named.
create or replace function bpm_core.compile_process(
  p_xml text, p_process_id text, p_strict boolean, p_tenant_id text,
  out process bpm_core.draft_process, out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[], out warnings jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_processes bpm_core.draft_process[];
  v_findings  bpm_core.finding[];
begin
  select c.processes, c.nodes, c.flows, c.findings into v_processes, nodes, flows, v_findings
    from bpm_core.compile_text(p_xml, p_strict, p_tenant_id) c;
  perform bpm_core.refuse_faults(v_findings);
  warnings := bpm_core.findings_json(v_findings, 'warning');
  v_processes := array(select p from unnest(v_processes) p where p.deployed and p.process_id = coalesce(p_process_id, p.process_id));
  if cardinality(v_processes) <> 1 then
    perform bpm_core.fail('BP422',
      case when p_process_id is null then format('The file holds %s processes; a workflow is one of them.', cardinality(v_processes))
           else format('The file holds no process %L that is executed.', left(p_process_id, 200)) end,
      jsonb_build_object('processes', array(select p.process_id from unnest(v_processes) p)), 'Say which with p_process_id.');
  end if;
  process := v_processes[1];
end
$$;

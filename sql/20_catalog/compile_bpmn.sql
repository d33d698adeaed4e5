-- The compiler: element rows to the graph, with everything that is wrong or odd. Knows BPMN, not XML; writes nothing.
-- Returns:  processes, nodes and flows (lowered, ready to be stored when no finding is a fault), findings without lines.
create or replace function bpm_core.compile_bpmn(
  p_elements bpm_core.bpmn_element[], p_strict boolean, p_tenant_id text,
  out processes bpm_core.draft_process[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[], out findings bpm_core.finding[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
declare
  v_drawn bpm_core.draft_node[];
  v_lines bpm_core.draft_flow[];
begin
  processes := coalesce(array(select p from bpm_core.bpmn_processes(p_elements) p), '{}');
  v_drawn := bpm_core.draft_nodes(p_elements);
  select x.nodes, x.flows into v_drawn, v_lines from bpm_core.expand_events(v_drawn, bpm_core.draft_flows(p_elements, v_drawn)) x;
  v_lines := bpm_core.compile_conditions(v_lines);
  v_drawn := bpm_core.resolve_nodes(p_elements, v_drawn, v_lines, bpm_core.approval_types(p_tenant_id));
  select l.nodes, l.flows into nodes, flows
    from bpm_core.add_sagas(p_elements, processes, v_drawn, v_lines) s
   cross join lateral bpm_core.wrap_bodies(processes, s.nodes, s.flows) b
   cross join lateral bpm_core.wrap_loops(p_elements, b.nodes, b.flows) m
    -- When everything is where it runs: what is done in a loop is marked inside of that.
   cross join lateral bpm_core.lower_compensation(p_elements, v_drawn, m.nodes, m.flows) c
   cross join lateral bpm_core.lower_graph(c.nodes, c.flows) l;
  findings := array(
    select f
      from (select f from bpm_core.find_process_faults(processes, v_drawn) f
            union all select f from bpm_core.find_owner_faults(processes, p_tenant_id) f
            union all select f from bpm_core.find_too_large(processes, nodes, flows) f
            union all select f from bpm_core.find_duplicate_ids(p_elements, nodes, flows) f
            union all select f from bpm_core.find_unsupported(p_elements, v_drawn) f
            union all select f from bpm_core.find_flow_faults(v_drawn, v_lines) f
            union all select f from bpm_core.find_shape_faults(v_drawn, v_lines) f
            union all select f from bpm_core.find_gateway_faults(v_drawn, v_lines) f
            union all select f from bpm_core.find_link_faults(v_drawn, v_lines) f
            union all select f from bpm_core.find_scope_faults(v_drawn) f
            union all select f from bpm_core.find_loop_faults(p_elements, v_drawn) f
            union all select f from bpm_core.find_call_faults(p_elements, v_drawn) f
            union all select f from bpm_core.find_compensation_faults(p_elements, v_drawn) f
            union all select f from bpm_core.find_transaction_faults(p_elements, v_drawn) f
            union all select f from bpm_core.find_unreachable(v_drawn, v_lines) f
            union all select f from bpm_core.find_unknown_references(p_elements, v_drawn) f
            union all select f from bpm_core.find_event_faults(p_elements, v_drawn) f
            union all select f from bpm_core.find_task_faults(v_drawn, p_tenant_id) f
            union all select f from bpm_core.find_own_misused(p_elements) f
            union all select f from bpm_core.find_ignored(p_elements, v_drawn, p_strict) f) x);
end
$$;

-- Turns what compensation implies into plain nodes. Behind an activity that can be undone stands <id>:mark, which writes down that it was completed. A flow leads
-- from its boundary event to the handler, and from that to <id>:done. Behind a cancel end event stand <id>:compensate and <id>:cancelled.
-- p_drawn: the nodes as drawn, where an activity is not yet inside of its loop. Returns: nodes and flows.
create or replace function bpm_core.lower_compensation(
  p_elements bpm_core.bpmn_element[], p_drawn bpm_core.draft_node[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node  bpm_core.draft_node;
  v_throw bpm_core.draft_node;
  r_pair  record;
begin
  nodes := p_nodes;
  flows := p_flows;
  if not exists (select from unnest(p_drawn) n where n.kind in ('CompensationBoundary', 'CompensationThrow', 'CancelEnd')) then
    return;
  end if;
  nodes := array(select bpm_core.name_compensated(n) from unnest(nodes) n);
  for r_pair in
    select distinct on (p.process_pos, p.activity_id) p.event_id, a as activity, h as handler, b as boundary
      from bpm_core.compensation_pairs(p_elements, p_drawn) p
      join unnest(nodes) a on a.process_pos = p.process_pos and a.node_id = p.activity_id
      join unnest(nodes) h on h.process_pos = p.process_pos and h.node_id = p.handler_id
      left join unnest(nodes) b on b.process_pos = p.process_pos and b.node_id = p.event_id and b.tag = 'boundaryEvent'
     order by p.process_pos, p.activity_id, p.event_id
  loop
    select m.nodes, m.flows into nodes, flows
      from bpm_core.put_mark(nodes, flows, r_pair.activity, r_pair.event_id, (r_pair.handler).node_id) m;
    if (r_pair.boundary).node_id is not null then
      select m.nodes, m.flows into nodes, flows from bpm_core.put_handler(nodes, flows, r_pair.boundary, r_pair.handler) m;
    end if;
  end loop;
  foreach v_node in array p_nodes loop
    continue when v_node.kind is distinct from 'CancelEnd';
    v_throw := bpm_core.plain_node(v_node, v_node.node_id || ':compensate', 'intermediateThrowEvent', 'CompensationThrow', v_node.scope_id, 1, 1);
    v_throw.attributes := '{"whole": true}';
    nodes := nodes || v_throw
                   || bpm_core.plain_node(v_node, v_node.node_id || ':cancelled', 'endEvent', 'CancelEnd', v_node.scope_id, 1, 0);
    flows := flows || bpm_core.plain_flow(v_node, v_node.node_id || ':compensate-flow', v_node.node_id, v_node.node_id || ':compensate')
                   || bpm_core.plain_flow(v_node, v_node.node_id || ':cancelled-flow', v_node.node_id || ':compensate', v_node.node_id || ':cancelled');
  end loop;
end
$$;

-- Turns what the drawing implies into plain nodes: an implicit split behind a node (several flows, no conditions), the split half of a
-- parallel gateway that joins and forks, and the choice behind an activity with one conditional flow and at most a default beside it,
-- which for a single condition is exactly an exclusive choice. The node added is <id>:split or <id>:choice, the flow to it
-- <id>:split-flow or <id>:choice-flow; the drawn flows start from it.
-- Returns:  nodes and flows, flows numbered per source: document order, the default last.
create or replace function bpm_core.lower_graph(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node  bpm_core.draft_node;
  v_flow  bpm_core.draft_flow;
  v_added bpm_core.draft_flow[] := '{}';
begin
  nodes := '{}';
  foreach v_node in array p_nodes loop
    if bpm_core.implied_node(v_node) is not null then
      v_flow := row(v_node.pos, v_node.process_pos, v_node.scope_pos, v_node.node_id || bpm_core.implied_node(v_node) || '-flow', null, null, null,
                    v_node.node_id, v_node.node_id || bpm_core.implied_node(v_node), false, null, null, null, null, 0);
      v_added := v_added || v_flow;
    end if;
  end loop;
  select array_agg(x.node order by (x.node).pos, x.added) into nodes
    from (select n::bpm_core.draft_node as node, 0 as added
            from unnest(p_nodes) n
          union all
          select row(n.pos, n.process_pos, n.scope_pos, n.scope_id, n.scope_tag, a.target_id, n.tag, null, '{}', '{}', null, null, null, null, true, null, null,
                     null, 1, n.outgoing, n.conditional,
                     case bpm_core.implied_node(n) when ':split' then 'ParallelFork' else 'ExclusiveGateway' end::bpm_core.node_kind,
                     null, null, null, null, null, null, null)::bpm_core.draft_node, 1
            from unnest(p_nodes) n join unnest(v_added) a on a.pos = n.pos and a.source_id = n.node_id) x;
  select array_agg(row(f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, f.source_id, f.target_id, f.is_default,
                       f.condition_source, f.language, f.condition, f.problem, f.ord)::bpm_core.draft_flow order by f.pos) into flows
    from (select g.pos, g.process_pos, g.scope_pos, g.flow_id, g.name, g.source_ref, g.target_ref, coalesce(a.target_id, g.source_id) as source_id, g.target_id,
                 g.is_default, g.condition_source, g.language, g.condition, g.problem,
                 (row_number() over (partition by g.scope_pos, g.source_id order by g.is_default, g.pos))::integer as ord
            from unnest(p_flows) g
            left join unnest(v_added) a on a.scope_pos = g.scope_pos and a.source_id = g.source_id
          union all
          select a.pos, a.process_pos, a.scope_pos, a.flow_id, a.name, a.source_ref, a.target_ref, a.source_id, a.target_id,
                 a.is_default, a.condition_source, a.language, a.condition, a.problem, 1
            from unnest(v_added) a) f;
  nodes := coalesce(nodes, '{}');
  flows := coalesce(flows, '{}');
end
$$;

-- Nodes that have incoming flows, but only from a circle that nothing leads into. The walk starts at every node nothing leads to (those
-- that should have incoming flows are reported already) and goes over flows, and from a host to its boundary events.
-- Breadth first over numbered nodes in arrays: a recursive query would scan all flows once per step of the longest path.
create or replace function bpm_core.find_unreachable(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ends   bpm_core.graph_index := bpm_core.index_graph(p_nodes, p_flows);
  v_seen   boolean[] := array_fill(false, array[cardinality(p_nodes)]);
  v_queue  integer[] := v_ends.seeds;
  v_head   integer := 1;
  v_target integer;
begin
  foreach v_target in array v_queue loop
    v_seen[v_target] := true;
  end loop;
  while v_head <= cardinality(v_queue) loop
    for v_place in v_ends.first_place[v_queue[v_head]] .. v_ends.last_place[v_queue[v_head]] loop
      v_target := v_ends.targets[v_place];
      if not v_seen[v_target] then
        v_seen[v_target] := true;
        v_queue := v_queue || v_target;
      end if;
    end loop;
    v_head := v_head + 1;
  end loop;
  return query
    select f.*
      from unnest(p_nodes) with ordinality n
      join unnest(v_seen) with ordinality s (seen, ord) on s.ord = n.ordinality and not s.seen
     cross join lateral bpm_core.fault('OrphanNode', format('Nothing outside its circle leads to %s.', bpm_core.element_label(n.tag, n.node_id, n.name)),
                                       n.node_id, null, 'Connect the circle to what comes before it, or remove it.') f
     where n.scope_tag <> 'adHocSubProcess';
end
$$;

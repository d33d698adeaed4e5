-- For every node the flows into inclusive joins of its scope that a token standing there can reach without passing the join they lead into.
-- A node reaches what its targets reach and the flows to them; through a join goes everything but the flows into it. All nodes are looked at once, the ends
-- first, which is enough without circles; after that those before a node that has changed.
create or replace function bpm_core.inclusive_reach_rows(
  p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[], p_places bpm_core.inclusive_flow[])
returns setof bpm_core.inclusive_reach
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_index  record;
  v_first  integer[];
  v_last   integer[];
  v_target integer[];
  v_place  integer[];
  v_keep   bit varying[];
  v_reach  bit varying[];
  v_from   integer[];
  v_till   integer[];
  v_source integer[];
  v_queue  integer[];
  v_queued boolean[];
  v_head   integer := 1;
  v_bits   bit varying;
  v_node   integer;
  v_to     integer;
begin
  select i.* into r_index from bpm_core.index_inclusive(p_nodes, p_flows, p_places) i;
  v_first := (r_index.graph).first_place;
  v_last := (r_index.graph).last_place;
  v_target := (r_index.graph).targets;
  v_from := (r_index.back).first_place;
  v_till := (r_index.back).last_place;
  v_source := (r_index.back).targets;
  v_place := r_index.flow_place;
  v_keep := r_index.keep;
  v_reach := r_index.nothing;
  v_queue := bpm_core.postorder(r_index.graph);
  v_queued := array_fill(true, array[cardinality(v_queue)]);
  while v_head <= cardinality(v_queue) loop
    v_node := v_queue[v_head];
    v_head := v_head + 1;
    v_queued[v_node] := false;
    v_bits := v_reach[v_node];
    for v_at in v_first[v_node] .. v_last[v_node] loop
      v_to := v_target[v_at];
      v_bits := v_bits | case when v_keep[v_to] is null then v_reach[v_to] else v_reach[v_to] & v_keep[v_to] end;
      if v_place[v_at] is not null then
        v_bits := set_bit(v_bits, v_place[v_at], 1);
      end if;
    end loop;
    continue when v_bits = v_reach[v_node];
    v_reach[v_node] := v_bits;
    for v_at in v_from[v_node] .. v_till[v_node] loop
      if not v_queued[v_source[v_at]] then
        v_queued[v_source[v_at]] := true;
        v_queue := v_queue || v_source[v_at];
      end if;
    end loop;
  end loop;
  return query
    select (p_nodes[1]).tenant_id, (p_nodes[1]).workflow_version_id, x.node_id, x.reach
      from unnest(r_index.node_ids, v_reach, r_index.nothing) x(node_id, reach, nothing)
     where x.reach <> x.nothing;
end
$$;

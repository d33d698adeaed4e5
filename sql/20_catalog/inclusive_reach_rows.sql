-- For every node the flows into inclusive joins of its scope that a token standing there can reach without passing the join they lead into.
-- A node reaches what its targets reach and the flows to them; through a join goes everything but the flows into it. Swept over all nodes,
-- in turns from the ends and from the starts, until nothing changes: once for a graph without circles, a few times for one with.
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
  v_order  integer[];
  v_swept  boolean[];
  v_again  boolean := false;
  v_bits   bit varying;
  v_node   integer;
  v_to     integer;
begin
  select i.* into r_index from bpm_core.index_inclusive(p_nodes, p_flows, p_places) i;
  v_first := (r_index.graph).first_place;
  v_last := (r_index.graph).last_place;
  v_target := (r_index.graph).targets;
  v_place := r_index.flow_place;
  v_keep := r_index.keep;
  v_reach := r_index.nothing;
  v_order := bpm_core.postorder(r_index.graph);
  v_swept := array_fill(false, array[cardinality(v_order)]);
  loop
    foreach v_node in array v_order loop
      v_bits := v_reach[v_node];
      for v_at in v_first[v_node] .. v_last[v_node] loop
        v_to := v_target[v_at];
        v_bits := v_bits | case when v_keep[v_to] is null then v_reach[v_to] else v_reach[v_to] & v_keep[v_to] end;
        if v_place[v_at] is not null then
          v_bits := set_bit(v_bits, v_place[v_at], 1);
        end if;
        -- What is behind a flow backwards may have changed after it was looked at.
        v_again := v_again or not v_swept[v_to];
      end loop;
      if v_bits <> v_reach[v_node] then
        v_reach[v_node] := v_bits;
        v_again := v_again or v_swept[v_node];
      end if;
      v_swept[v_node] := true;
    end loop;
    exit when not v_again;
    v_again := false;
    v_order := array(select o.node from unnest(v_order) with ordinality o(node, ord) order by o.ord desc);
  end loop;
  return query
    select (p_nodes[1]).tenant_id, (p_nodes[1]).workflow_version_id, x.node_id, x.reach
      from unnest(r_index.node_ids, v_reach, r_index.nothing) x(node_id, reach, nothing)
     where x.reach <> x.nothing;
end
$$;

-- The nodes of a graph, each after all that it leads to, as far as circles allow.
-- Returns:  integer[], the numbers of the nodes.
create or replace function bpm_core.postorder(p_graph bpm_core.graph_index)
returns integer[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count  integer := coalesce(cardinality(p_graph.first_place), 0);
  v_last   integer[] := p_graph.last_place;
  v_target integer[] := p_graph.targets;
  v_next   integer[] := p_graph.first_place;
  v_seen   boolean[] := array_fill(false, array[v_count]);
  v_stack  integer[] := array_fill(0, array[v_count]);
  v_order  integer[] := '{}'::integer[];
  v_depth  integer;
  v_node   integer;
  v_to     integer;
begin
  for v_root in 1 .. v_count loop
    continue when v_seen[v_root];
    v_seen[v_root] := true;
    v_depth := 1;
    v_stack[1] := v_root;
    while v_depth > 0 loop
      v_node := v_stack[v_depth];
      if v_next[v_node] > v_last[v_node] then
        v_order := v_order || v_node;
        v_depth := v_depth - 1;
      else
        v_to := v_target[v_next[v_node]];
        v_next[v_node] := v_next[v_node] + 1;
        if not v_seen[v_to] then
          v_seen[v_to] := true;
          v_depth := v_depth + 1;
          v_stack[v_depth] := v_to;
        end if;
      end if;
    end loop;
  end loop;
  return v_order;
end
$$;

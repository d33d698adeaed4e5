-- The graph as arrays: nodes are numbered in the order given, the targets of node i are targets[first_place[i] .. last_place[i]]
-- (last before first when it has none), seeds are the start events and the nodes nothing leads to. Boundary events count as targets of their host.
create or replace function bpm_core.index_graph(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns bpm_core.graph_index
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.scope_pos, n.node_id, n.tag, n.attached_to, n.ordinality::integer as ord from unnest(p_nodes) with ordinality n
  ),
  known as materialized (select n.scope_pos, n.node_id, min(n.ord) as ord from node n group by n.scope_pos, n.node_id),
  edge as materialized (
    select s.ord as source, t.ord as target
      from unnest(p_flows) f
      join known s on s.scope_pos = f.scope_pos and s.node_id = f.source_id
      join known t on t.scope_pos = f.scope_pos and t.node_id = f.target_id
    union all
    select h.ord, b.ord from node b join known h on h.scope_pos = b.scope_pos and h.node_id = b.attached_to
  ),
  sorted as materialized (select e.source, e.target, row_number() over (order by e.source, e.target)::integer as place from edge e),
  span as (select s.source, min(s.place) as first_place, max(s.place) as last_place from sorted s group by s.source)
  select row(
    array(select coalesce(p.first_place, 1) from node n left join span p on p.source = n.ord order by n.ord),
    array(select coalesce(p.last_place, 0) from node n left join span p on p.source = n.ord order by n.ord),
    array(select s.target from sorted s order by s.place),
    array(select n.ord from node n where n.tag = 'startEvent' or n.ord not in (select e.target from edge e) order by n.ord))::bpm_core.graph_index
$$;

-- The graph around inclusive joins as arrays: the nodes of every scope that has one, numbered; the targets of node i are
-- targets[first_place[i] .. last_place[i]]. Boundary events count as targets of their host, the start events of event sub-processes do not:
-- they are in a scope of their own.
-- Returns:  one row; back is the graph with every step turned round; flow_place[i] is the place of the flow to targets[i], null of any other; keep[i], of a join, has all bits but those of the flows
--           into it; nothing, of every node, has as many zeros as its scope has such flows.
create or replace function bpm_core.index_inclusive(
  p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[], p_places bpm_core.inclusive_flow[],
  out node_ids text[], out graph bpm_core.graph_index, out back bpm_core.graph_index, out flow_place integer[], out keep bit varying[], out nothing bit varying[])
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with here as (select n.node_id, n.attached_to, n.element, coalesce(n.scope_node_id, '') as scope_id from unnest(p_nodes) n),
  entry as materialized (select p.node_id, p.flow_id, p.place, p.first_place, p.flows from unnest(p_places) p),
  scope as materialized (
    select h.scope_id, max(e.place) + 1 as width, repeat('0', max(e.place) + 1)::bit varying as nothing
      from entry e join here h on h.node_id = e.node_id group by h.scope_id),
  own as (select distinct e.node_id, e.first_place, e.flows from entry e),
  node as materialized (
    select h.*, s.width, s.nothing, (row_number() over (order by h.node_id))::integer as ord from here h join scope s on s.scope_id = h.scope_id),
  edge as materialized (
    select s.ord as source, t.ord as target, e.place
      from unnest(p_flows) f
      join node s on s.node_id = f.source_id
      join node t on t.node_id = f.target_id and t.scope_id = s.scope_id
      left join entry e on e.flow_id = f.flow_id
    union all
    select h.ord, b.ord, null from node b join node h on h.node_id = b.attached_to and h.scope_id = b.scope_id where b.element <> 'startEvent'),
  sorted as materialized (select e.*, (row_number() over (order by e.source, e.target))::integer as at from edge e),
  span as (select s.source, min(s.at) as first_place, max(s.at) as last_place from sorted s group by s.source),
  turned as materialized (select e.*, (row_number() over (order by e.target, e.source))::integer as at from edge e),
  back_span as (select t.target, min(t.at) as first_place, max(t.at) as last_place from turned t group by t.target)
  select array_agg(n.node_id order by n.ord),
         row(array_agg(coalesce(p.first_place, 1) order by n.ord), array_agg(coalesce(p.last_place, 0) order by n.ord),
             array(select s.target from sorted s order by s.at), '{}')::bpm_core.graph_index,
         row(array_agg(coalesce(b.first_place, 1) order by n.ord), array_agg(coalesce(b.last_place, 0) order by n.ord),
             array(select t.source from turned t order by t.at), '{}')::bpm_core.graph_index,
         array(select s.place from sorted s order by s.at),
         array_agg(case when o.flows is not null then
                     (repeat('1', o.first_place) || repeat('0', o.flows) || repeat('1', n.width - o.first_place - o.flows))::bit varying end order by n.ord),
         array_agg(n.nothing order by n.ord)
    from node n
    left join span p on p.source = n.ord
    left join back_span b on b.target = n.ord
    left join own o on o.node_id = n.node_id
$$;

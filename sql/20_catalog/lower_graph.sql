-- Turns what the drawing implies into plain nodes: an implicit split behind a node (several flows, no conditions), the split half of a
-- parallel or inclusive gateway that joins and splits, and the choice behind an activity with one conditional flow and at most a default beside it,
-- which for a single condition is exactly an exclusive choice; an inclusive split behind one with more; the end behind an end event that
-- throws something, and behind a boundary event that nothing leads away from. The node added is <id>:split, <id>:choice, <id>:inclusive or
-- <id>:end, the flow to it <id>:split-flow, …; the drawn flows start from it.
-- Returns:  nodes and flows, flows numbered per source: document order, the default last.
create or replace function bpm_core.lower_graph(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with drawn as materialized (
    select n.*, n.node_id || bpm_core.implied_node(n.tag, n.kind, n.incoming, n.outgoing, n.conditional, n.default_ref) as implied from unnest(p_nodes) n
  ),
  source as materialized (
    select distinct on (d.scope_pos, d.node_id) d.scope_pos, d.node_id, d.implied from drawn d where d.implied is not null order by d.scope_pos, d.node_id, d.pos
  ),
  node as (
    select n::bpm_core.draft_node as node, n.pos, 0 as added from unnest(p_nodes) n
    union all
    select row(d.pos, d.process_pos, d.scope_pos, d.scope_id, d.scope_tag, d.implied, d.tag, null, '{}', '{}', null, null, null, null, true, null, null, null,
               1, d.outgoing, d.conditional,
               case substring(d.implied from '[^:]*$')
                 when 'choice' then 'ExclusiveGateway' when 'inclusive' then 'InclusiveSplit' when 'end' then 'EndEvent'
                 else case when d.tag = 'inclusiveGateway' then 'InclusiveSplit' else 'ParallelFork' end
               end::bpm_core.node_kind,
               null, null, null, null, null, null, null, '{}')::bpm_core.draft_node, d.pos, 1
      from drawn d where d.implied is not null
  ),
  flow as (
    select f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, coalesce(s.implied, f.source_id) as source_id, f.target_id,
           f.is_default, f.condition_source, f.language, f.condition, f.problem,
           (row_number() over (partition by f.scope_pos, f.source_id order by f.is_default, f.pos))::integer as ord, f.condition_tree
      from unnest(p_flows) f
      left join source s on s.scope_pos = f.scope_pos and s.node_id = f.source_id
    union all
    select d.pos, d.process_pos, d.scope_pos, d.implied || '-flow', null, null, null, d.node_id, d.implied, false, null, null, null, null, 1, null
      from drawn d where d.implied is not null
  )
  select (select coalesce(array_agg(n.node order by n.pos, n.added), '{}') from node n),
         (select coalesce(array_agg(row(f.*)::bpm_core.draft_flow order by f.pos), '{}') from flow f)
$$;

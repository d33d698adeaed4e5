-- Puts every activity that is multi-instance or a loop into a node of its own, <id>:multi or <id>:loop, which the flows lead to and leave, and which its
-- boundary events are attached to. Inside, each item goes from <id>:multi:start through the activity to <id>:multi:end.
-- Returns:  nodes and flows, not yet lowered.
create or replace function bpm_core.wrap_loops(
  p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with loop as materialized (
    select n::bpm_core.draft_node as node, n.scope_pos, n.node_id, n.pos, n.loop as tag, d.spec,
           n.node_id || case n.loop when 'standardLoopCharacteristics' then ':loop' else ':multi' end as around
      from unnest(p_nodes) n
      join bpm_core.drawn_loops(p_elements) d on d.owner_pos = n.pos
     where n.loop is not null and n.tag ~ '(Task|task|Process|callActivity|transaction)$' and n.kind <> 'EventSubProcess' and d.spec is not null),
  node as (
    select case when l.node_id is null and b.node_id is null then n::bpm_core.draft_node
                else bpm_core.put_in_loop(n::bpm_core.draft_node, l.around, b.around) end as node, n.pos as ord, 0 as added
      from unnest(p_nodes) n
      left join loop l on l.pos = n.pos and n.loop is not null
      left join loop b on n.tag = 'boundaryEvent' and b.scope_pos = n.scope_pos and b.node_id = n.attached_to
    union all
    select a.node, l.pos, a.ord
      from loop l
     cross join lateral (values
       (bpm_core.loop_node(l.node, l.around, l.tag, l.spec), 1),
       (bpm_core.plain_node(l.node, l.around || ':start', 'startEvent', 'StartEvent', l.around, 0, 1), 2),
       (bpm_core.plain_node(l.node, l.around || ':end', 'endEvent', 'ItemEnd', l.around, 1, 0), 3)) a(node, ord)),
  flow as (
    select row(f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, coalesce(s.around, f.source_id), coalesce(t.around, f.target_id),
               f.is_default, f.condition_source, f.language, f.condition, f.problem, f.ord, f.condition_tree)::bpm_core.draft_flow as flow, f.pos as ord, 0 as added
      from unnest(p_flows) f
      left join loop s on s.scope_pos = f.scope_pos and s.node_id = f.source_id
      left join loop t on t.scope_pos = f.scope_pos and t.node_id = f.target_id
    union all
    select a.flow, l.pos, a.ord
      from loop l
     cross join lateral (values
       (bpm_core.plain_flow(l.node, l.around || ':in', l.around || ':start', l.node_id), 1),
       (bpm_core.plain_flow(l.node, l.around || ':out', l.node_id, l.around || ':end'), 2)) a(flow, ord))
  select (select coalesce(array_agg(n.node order by n.ord, n.added), '{}') from node n),
         (select coalesce(array_agg(f.flow order by f.ord, f.added), '{}') from flow f)
$$;

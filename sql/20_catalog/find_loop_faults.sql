-- What is wrong about multi-instance and loop activities.
create or replace function bpm_core.find_loop_faults(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.node_id, n.tag, n.kind, bpm_core.element_label(n.tag, n.node_id, n.name) as label, d.problem, d.hint
      from unnest(p_nodes) n
      join bpm_core.drawn_loops(p_elements) d on d.owner_pos = n.pos
     where n.loop is not null and n.kind is not null)
  select bpm_core.fault('InvalidLoop', format('%s: %s.', n.label, n.problem), n.node_id, null, n.hint)
    from node n where n.problem is not null
  union all
  select bpm_core.fault('InvalidLoop', format('%s can be neither multi-instance nor a loop.', n.label), n.node_id, null, 'Only activities can; put an event sub-process into one.')
    from node n where n.kind = 'EventSubProcess' or n.tag ~ '(Event|Gateway)$'
$$;

-- What is wrong about call activities: nothing to call, a binding or a mapping that cannot be read.
create or replace function bpm_core.find_call_faults(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault(case when c.problem = 'it names no process to call' then 'UnknownReference' when c.problem like '%binding%' then 'UnsupportedElement' else 'InvalidCondition' end,
           format('%s: %s.', bpm_core.element_label(n.tag, n.node_id, n.name), c.problem), n.node_id, null,
           'Name the id of a process: calledElement="order"; bindings are latest, deployment and version.')
    from unnest(p_nodes) n
    join bpm_core.drawn_calls(p_elements) c on c.node_pos = n.pos
   where n.tag = 'callActivity' and c.problem is not null
$$;

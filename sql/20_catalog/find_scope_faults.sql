-- What is wrong about sub-processes: how they begin, and what is connected to an event sub-process.
create or replace function bpm_core.find_scope_faults(p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label,
           n.tag = 'subProcess' and n.attributes @> '{"triggeredByEvent": "true"}' as by_event
      from unnest(p_nodes) n),
  start as materialized (
    select s.label, s.node_id, s.pos, s.event, s.interrupting, p.by_event, p.label as around, p.node_id as around_id, o.label as outside
      from node s
      join node p on p.process_pos = s.process_pos and p.node_id = s.scope_id
      left join node o on o.process_pos = p.process_pos and o.node_id = p.scope_id and o.by_event
     where s.tag = 'startEvent' and p.tag <> 'adHocSubProcess')
  select bpm_core.fault('UnsupportedElement', format('%s begins %s, which only a plain start event does.', s.label, s.around), s.node_id, null,
           'A sub-process that an event begins says triggeredByEvent="true".')
    from start s where not s.by_event and s.event <> 'none'
  union all
  select bpm_core.fault('UnsupportedElement', format('%s begins the event sub-process %s, but waits for nothing.', s.label, s.around_id), s.node_id, null,
           'Give it a message, timer, signal, error, escalation or compensation definition.')
    from start s where s.by_event and s.event = 'none'
  union all
  -- Only what is thrown finds it there: nothing else would be waited for.
  select bpm_core.fault('UnsupportedElement', format('%s begins an event sub-process inside of another one (%s), which only errors and escalations do here.', s.label, s.outside),
           s.node_id, null, 'Draw a sub-process around it.')
    from start s where s.by_event and s.outside is not null and s.event not in ('none', 'error', 'escalation')
  union all
  select bpm_core.fault('MultipleStartEvents', format('%s has %s start events; an event sub-process has one.', min(s.around), count(distinct s.pos)), s.around_id, null,
           'Draw an event sub-process for each.')
    from start s where s.by_event group by s.around_id having count(distinct s.pos) > 1
  union all
  select bpm_core.warning('ErrorAlwaysInterrupts', format('%s says isInterrupting="false"; an error ends what is around it all the same.', s.label), s.node_id)
    from start s where s.by_event and s.event = 'error' and not s.interrupting
  union all
  select bpm_core.fault('UnsupportedElement', format('%s is begun by an event, so no sequence flow leads to it or leaves it.', n.label), n.node_id, null, 'Remove the flow.')
    from node n where n.by_event and n.incoming + n.outgoing > 0
  union all
  select bpm_core.fault('UnsupportedElement', format('%s is attached to an event sub-process, which has no boundary.', b.label), b.node_id, null,
           'Attach it to the sub-process around.')
    from node b
    join node n on n.by_event and n.scope_pos = b.scope_pos and n.node_id = b.attached_to
   where b.tag = 'boundaryEvent'
$$;

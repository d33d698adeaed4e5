-- What is wrong or odd about compensation: handlers that nothing leads to, events without a handler, what a throw event names.
create or replace function bpm_core.find_compensation_faults(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label, bpm_core.is_handler(n.attributes) as undoes from unnest(p_nodes) n),
  pair as materialized (select p.* from bpm_core.compensation_pairs(p_elements, p_nodes) p),
  tied as materialized (
    select p.scope_pos, p.event_id, min(p.activity_id) as activity_id, count(p.handler_id) as handlers, bool_and(p.is_handler) as all_handlers, min(p.handler_id) as one
      from pair p group by p.scope_pos, p.event_id)
  select bpm_core.fault('InvalidCompensation', format('%s %s.', n.label, case
           when t.handlers = 0 then 'is tied to no compensation handler'
           when t.handlers > 1 then 'is tied to several activities; what undoes one activity is one'
           when not t.all_handlers then format('is tied to "%s", which is no compensation handler', t.one)
           else 'has an outgoing sequence flow; an association leads to its handler' end), n.node_id, null,
           'Draw an association from it to one activity that says isForCompensation="true".')
    from tied t
    join node n on n.node_id = t.event_id and n.tag = 'boundaryEvent'
   where t.handlers <> 1 or not t.all_handlers or n.outgoing > 0
  union all
  select bpm_core.fault('InvalidCompensation', format('%s is a compensation handler and has a sequence flow; it begins and ends by itself.', n.label), n.node_id, null,
           'Remove the flow, or isForCompensation.')
    from node n where n.undoes and n.incoming + n.outgoing > 0
  union all
  select bpm_core.fault('InvalidCompensation', format('%s is a compensation handler, but no association leads to it.', n.label), n.node_id, null,
           'Draw an association to it from the compensation boundary event of the activity it undoes.')
    from node n where n.undoes and not exists (select from pair p where p.scope_pos = n.scope_pos and p.handler_id = n.node_id)
  union all
  select bpm_core.fault('InvalidCompensation', format('%s is a compensation handler of %s; one undoes one.', n.label, string_agg('"' || p.activity_id || '"', ', ')), n.node_id,
           null, 'Draw a handler for each.')
    from node n join pair p on p.scope_pos = n.scope_pos and p.handler_id = n.node_id
   where n.undoes group by n.label, n.node_id having count(*) > 1
  union all
  select bpm_core.fault('InvalidCompensation', format('%s is attached to a compensation handler, which it cannot interrupt or undo.', n.label), n.node_id, null,
           'Put what the handler does into a sub-process, and the event inside.')
    from node n join node h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to and h.undoes
   where n.tag = 'boundaryEvent'
  union all
  select bpm_core.fault('InvalidCompensation', format('"%s" has %s compensation handlers; it can have one.', p.activity_id, count(distinct p.event_id)), p.activity_id, null,
           'Keep one boundary event or one event sub-process.')
    from pair p where p.activity_id is not null group by p.process_pos, p.activity_id having count(distinct p.event_id) > 1
  union all
  select bpm_core.fault('UnknownReference', format('%s compensates "%s", which is no activity of the process.', n.label, left(r.id, 200)), n.node_id, null,
           'Name the activity that is undone, or none to undo everything around.')
    from node n cross join lateral bpm_core.local_reference(n.definition ->> 'activityRef') r(id)
   where n.kind = 'CompensationThrow' and r.id is not null
     and not exists (select from node a where a.process_pos = n.process_pos and a.node_id = r.id and a.tag !~ '(Event|Gateway)$')
  union all
  select bpm_core.warning('NothingCompensated', format('%s compensates "%s", which nothing undoes.', n.label, left(r.id, 200)), n.node_id, null,
           'Give the activity a compensation boundary event with a handler.')
    from node n cross join lateral bpm_core.local_reference(n.definition ->> 'activityRef') r(id)
    join node a on a.process_pos = n.process_pos and a.node_id = r.id
   where n.kind = 'CompensationThrow' and a.tag not in ('subProcess', 'transaction')
     and not exists (select from pair p where p.process_pos = n.process_pos and p.activity_id = r.id)
  union all
  select bpm_core.warning('NothingCompensated', format('%s begins when the process is undone, which never happens.', n.label), n.node_id, null,
           'Put it into a sub-process.')
    from node n where n.tag = 'startEvent' and n.kind = 'CompensationBoundary' and n.attached_to is null
  union all
  select bpm_core.warning('CompensationAwaited', format('%s says waitForCompletion="false"; it waits all the same.', n.label), n.node_id)
    from node n where n.kind = 'CompensationThrow' and lower(btrim(n.definition ->> 'waitForCompletion')) in ('false', '0')
$$;

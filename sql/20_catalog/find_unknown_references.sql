-- References that point at nothing, or at something of another kind.
create or replace function bpm_core.find_unknown_references(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label from unnest(p_nodes) n),
  definition as materialized (select d.* from bpm_core.bpmn_definitions(p_elements) d),
  reference as (
    select n.node_id, n.label, r.tag, r.target
      from node n
     cross join lateral (values ('error', n.definition ->> 'errorRef'), ('signal', n.definition ->> 'signalRef'), ('escalation', n.definition ->> 'escalationRef'),
                                ('message', coalesce(n.definition ->> 'messageRef', n.attributes ->> 'messageRef'))) r (tag, target)
     where btrim(r.target) <> ''
  ),
  host as (select distinct on (n.scope_pos, n.node_id) n.scope_pos, n.node_id, n.tag from node n order by n.scope_pos, n.node_id, n.pos)
  select bpm_core.fault('UnknownReference', format('%s refers to the %s "%s", which the file does not define.', r.label, r.tag, left(r.target, 200)), r.node_id, null,
           format('Add <%s id="%s" …/> beside the process.', r.tag, left(bpm_core.local_reference(r.target), 200)))
    from reference r
    left join definition d on d.id = bpm_core.local_reference(r.target) and d.tag = r.tag
   where d.id is null
  union all
  select bpm_core.fault('UnknownReference', n.label || case
           when n.attached_to is null then ' is attached to nothing.'
           when h.node_id is null then format(' is attached to "%s", which is no node of its scope.', left(n.attached_to, 200))
           else format(' is attached to "%s", which is no activity.', left(n.attached_to, 200)) end, n.node_id, null, 'Attach it to the activity it watches.')
    from node n
    left join host h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
   where n.tag = 'boundaryEvent' and (h.node_id is null or h.tag like '%Event' or h.tag like '%Gateway')
  union all
  select bpm_core.fault('UnknownReference', format('The default flow "%s" of %s is not one of its outgoing flows.', left(n.default_ref, 200), n.label), n.node_id, null,
           'Choose the default among the flows that leave it.')
    from node n
   where n.default_ref is not null
     and not exists (select from unnest(p_elements) e where e.tag = 'sequenceFlow' and e.parent = n.scope_pos and e.id = n.default_ref and btrim(e.attributes ->> 'sourceRef') = n.node_id)
  union all
  select bpm_core.fault('UnknownReference', n.label || ' does not say which message it waits for.', n.node_id, null,
           'Define a message beside the process and refer to it with messageRef.')
    from node n
   where (n.tag = 'receiveTask' or (n.event = 'message' and n.tag in ('startEvent', 'intermediateCatchEvent', 'boundaryEvent')))
     and coalesce(btrim(coalesce(n.definition ->> 'messageRef', n.attributes ->> 'messageRef')), '') = ''
  union all
  select bpm_core.fault('UnknownReference', n.label || ' does not say which signal.', n.node_id, null, 'Define a signal beside the process and refer to it with signalRef.')
    from node n
   where n.event = 'signal' and coalesce(btrim(n.definition ->> 'signalRef'), '') = ''
  union all
  select bpm_core.fault('UnknownReference', n.label || ' throws an error without a code.', n.node_id, null, 'Refer to an error that has an errorCode.')
    from node n
    left join definition d on d.tag = 'error' and d.id = bpm_core.local_reference(n.definition ->> 'errorRef')
   where n.kind = 'ErrorEnd' and n.error_code is null and (d.id is not null or coalesce(btrim(n.definition ->> 'errorRef'), '') = '')
$$;

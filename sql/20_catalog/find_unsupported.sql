-- Elements that are not executed, each by its own id and name.
create or replace function bpm_core.find_unsupported(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault('UnsupportedElement',
           bpm_core.element_label(n.tag, n.node_id, n.name) || case
             when n.kind is null and n.event = 'several' then ' has several event definitions that all have to happen, which is not executed.'
             when n.kind is null and n.event = 'none' then ' has no event definition and is not executed.'
             when n.kind is null and n.event = 'missing' then ' refers to an event definition that is not there.'
             when n.kind is null and n.tag = 'startEvent' and n.event = 'conditional' then ' waits for a condition over variables, but before it starts there are none; not executed.'
             when n.kind is null and n.event is not null then format(' of kind %s is not executed.', n.event)
             when n.kind is null then ' is not executed.'
             else ' starts the process, which only a start event does here.' end,
           n.node_id, null, 'See the table of elements in the documentation for what is executed.')
    from unnest(p_nodes) n
   where n.kind is null or (n.tag = 'receiveTask' and n.attributes ->> 'instantiate' = 'true')
  union all
  select bpm_core.fault('UnsupportedElement', bpm_core.element_label(e.tag, coalesce(e.id, ''), e.attributes ->> 'name') || ' is no element of BPMN that is known here.',
           e.id, null, null)
    from unnest(p_elements) e
    join bpm_core.bpmn_scopes(p_elements) s on s.pos = e.parent
    join bpm_core.bpmn_processes(p_elements) p on p.pos = s.process_pos and p.deployed
   where e.space = 'bpmn' and e.tag <> all (bpm_core.bpmn_flow_node_tags())
     and e.tag <> all (array['sequenceFlow', 'documentation', 'extensionElements', 'incoming', 'outgoing', 'laneSet', 'ioSpecification', 'property',
       'dataObject', 'dataObjectReference', 'dataStoreReference', 'dataInputAssociation', 'dataOutputAssociation', 'association', 'textAnnotation', 'group',
       'artifact', 'auditing', 'monitoring', 'resourceRole', 'performer', 'humanPerformer', 'potentialOwner', 'correlationSubscription', 'supports',
       'supportedInterfaceRef', 'ioBinding', 'multiInstanceLoopCharacteristics', 'standardLoopCharacteristics', 'completionCondition', 'categoryValueRef'])
$$;

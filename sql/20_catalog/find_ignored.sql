-- What other engines would run and this one does not: listeners and scripts, mappings, expressions for people. Warnings; faults when strict.
create or replace function bpm_core.find_ignored(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_strict boolean)
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with ignored as (
    select case when x.tag in ('inputOutput', 'ioMapping') then 'MappingIgnored' else 'ListenerIgnored' end as code,
           format('%s has %s of another engine, which is not executed.', bpm_core.element_label(o.tag, coalesce(o.id, ''), o.attributes ->> 'name'),
                  case when x.tag in ('inputOutput', 'ioMapping') then 'input or output mappings' else 'a listener or script' end) as message,
           case when o.tag <> 'sequenceFlow' then o.id end as node_id, case when o.tag = 'sequenceFlow' then o.id end as flow_id
      from unnest(p_elements) h
      join unnest(p_elements) x on x.parent = h.pos
      join unnest(p_elements) o on o.pos = h.parent
     where h.tag = 'extensionElements' and h.space = 'bpmn' and x.space in ('camunda', 'flowable', 'zeebe')
       and x.tag in ('executionListener', 'taskListener', 'eventListener', 'executionListeners', 'taskListeners', 'script', 'inputOutput', 'ioMapping')
     group by 1, 2, 3, 4
    union all
    select 'ExpressionIgnored', format('%s names people by an expression, which is not evaluated: %s.', bpm_core.element_label(n.tag, n.node_id, n.name), left(v.source, 200)), n.node_id, null
      from unnest(p_nodes) n
     cross join lateral (values (true, coalesce(bpm_core.vendor_attribute(n.attributes, 'assignee'), n.extensions #>> '{zeebe:assignmentDefinition,assignee}')),
                                (false, coalesce(bpm_core.vendor_attribute(n.attributes, 'candidateGroups'), n.extensions #>> '{zeebe:assignmentDefinition,candidateGroups}'))) v (person, source)
     where n.tag = 'userTask' and btrim(v.source) ~ '^([$#]\{|=)' and not (v.person and bpm_core.expression_path(btrim(v.source)) is not null)
    union all
    select 'MessageNotSent', format('%s does not say how its message is sent; it sends nothing.', bpm_core.element_label(n.tag, n.node_id, n.name)), n.node_id, null
      from unnest(p_nodes) n
     where n.event = 'message' and n.kind in ('PassThrough', 'EndEvent')
  )
  select case when p_strict then bpm_core.fault(i.code, i.message, i.node_id, i.flow_id, 'Deploy without strict to run the process without it.')
               else bpm_core.warning(i.code, i.message, i.node_id, i.flow_id) end
    from ignored i
  union all
  select bpm_core.warning('DefaultConditionIgnored', format('Sequence flow "%s" is the default of "%s"; its condition is not looked at.', f.id, n.node_id), n.node_id, f.id)
    from unnest(p_nodes) n
    join unnest(p_elements) f on f.parent = n.scope_pos and f.id = n.default_ref and f.tag = 'sequenceFlow'
    join unnest(p_elements) c on c.parent = f.pos and c.tag = 'conditionExpression' and c.body <> ''
$$;

-- What other engines would run and this one does not: listeners and scripts, mappings, expressions for people. Warnings; faults when strict.
create or replace function bpm_core.find_ignored(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_strict boolean)
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with ignored as (
    select 'ListenerIgnored' as code,
           format('%s has a listener or script of another engine, which is not executed.', bpm_core.element_label(o.tag, coalesce(o.id, ''), o.attributes ->> 'name')) as message,
           case when o.tag <> 'sequenceFlow' then o.id end as node_id, case when o.tag = 'sequenceFlow' then o.id end as flow_id
      from unnest(p_elements) h
      join unnest(p_elements) x on x.parent = h.pos
      join unnest(p_elements) o on o.pos = h.parent
     where h.tag = 'extensionElements' and h.space = 'bpmn' and x.space in ('camunda', 'flowable', 'zeebe')
       and x.tag in ('executionListener', 'taskListener', 'eventListener', 'executionListeners', 'taskListeners', 'script')
       and not (x.tag = 'script' and o.tag = 'scriptTask')
     group by 1, 2, 3, 4
    union all
    select 'MappingIgnored', format('%s has mappings that are not executed: %s.', bpm_core.element_label(n.tag, n.node_id, n.name), m.names), n.node_id, null
      from unnest(p_nodes) n
     cross join lateral (
       select string_agg(coalesce(x.value ->> 'target', '') || case when x.value ? 'script' then ' (a script, or nested)' else '' end, ', ' order by x.n) as names
         from jsonb_array_elements(n.extensions -> 'mappings') with ordinality x(value, n)
        where x.value ? 'script' or x.value ->> 'direction' <> all (bpm_core.mapped_directions(n.tag, case when n.attributes ->> 'triggeredByEvent' = 'true' then 'begun' else n.event end))) m
     where n.extensions ? 'mappings' and m.names is not null and not (n.tag = 'callActivity' and n.extensions ? 'zeebe:ioMapping')  -- drawn_calls reads those
    union all
    select 'ScriptIgnored', format('%s runs no script; it is a task of type %s for a worker, which finds the script in its headers.',
                                   bpm_core.element_label(n.tag, n.node_id, n.name), left(n.task_type, 100)), n.node_id, null
      from unnest(p_nodes) n
     where n.tag = 'scriptTask' and n.task_type = n.node_id and n.attributes ->> 'bpm:type' is null
    union all
    select 'ExpressionIgnored', format('%s has an expression that is not understood: %s.', bpm_core.element_label(n.tag, n.node_id, n.name), u.problem), n.node_id, null
      from unnest(p_nodes) n
     cross join lateral bpm_core.drawn_binding(n.attributes, n.extensions - 'mappings', n.lane) b
     cross join lateral unnest(b.unread) u(problem)
     where n.kind in ('ServiceTask', 'ApprovalTask', 'UserTask') and n.attributes::text || n.extensions::text ~ '[$#]\{|": "\s*='
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

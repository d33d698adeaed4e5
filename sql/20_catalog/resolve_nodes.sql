-- Fills in what a node needs to run: the number of its flows, task type, error code, message, timer, kind. The start event of an event sub-process
-- is attached to the sub-process around that, as a boundary event is.
-- Conditions on the node stand inside the lateral queries, fenced, so that a function is not even called for a node it does not concern.
-- Returns:  draft_node[], in the order given. What could not be resolved stays null and is judged by the find_… functions.
create or replace function bpm_core.resolve_nodes(
  p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], p_approval_types text[])
returns bpm_core.draft_node[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.* from unnest(p_nodes) n),
  host as (select distinct n.scope_pos, n.node_id from node n),
  leaving as (
    select f.scope_pos, f.source_id as node_id, count(*)::integer as flows, (count(*) filter (where f.condition_source is not null))::integer as conditional
      from unnest(p_flows) f group by f.scope_pos, f.source_id
  ),
  arriving as (select f.scope_pos, f.target_id as node_id, count(*)::integer as flows from unnest(p_flows) f group by f.scope_pos, f.target_id),
  called as materialized (select c.* from bpm_core.drawn_calls(p_elements) c),
  definition as materialized (select d.* from bpm_core.bpmn_definitions(p_elements) d)
  select coalesce(array_agg(row(
           n.pos, n.process_pos, n.scope_pos, n.scope_id, n.scope_tag, n.node_id, n.tag, n.name, n.attributes, n.extensions, n.event, n.definition,
           n.default_ref, case when sub.node_id is not null then sub.scope_id else coalesce(h.node_id, regexp_replace(n.attached_to, '^[^:]*:', '')) end, n.interrupting, n.loop, n.lane, n.documentation,
           coalesce(a.flows, 0), coalesce(l.flows, 0), coalesce(l.conditional, 0),
           case
             when sub.node_id is not null then bpm_core.inner_start_kind(n.event)
             when n.tag = 'startEvent' and n.scope_id is not null then case n.event when 'none' then 'StartEvent'::bpm_core.node_kind end
             when n.tag = 'subProcess' and n.attributes @> '{"triggeredByEvent": "true"}' then 'EventSubProcess'
             else bpm_core.bpmn_node_kind(n.tag, n.event, coalesce(a.flows, 0), coalesce(l.flows, 0), coalesce(l.conditional, 0),
                                          n.attributes ->> 'bpm:approval' = 'required' or tt.task_type = any (p_approval_types),
                                          tt.task_type is not null)
           end,
           case n.tag when 'userTask' then 'bpm:user' else tt.task_type end,
           e.error_code, coalesce(m.message_name, s.name), m.correlation_path, t.kind, t.rule, t.path,
           n.expressions || case when c.spec is null then '{}' else jsonb_build_object('call', c.spec) end
                         || case when x.tree is null then '{}' else jsonb_build_object('condition', x.tree, 'condition_source', n.definition -> 'condition') end
                         || case when m.correlation is null then '{}' else jsonb_build_object('correlation', m.correlation) end
                         || case when o.outputs is null then '{}' else jsonb_build_object('outputs', o.outputs) end
                         || case when i.inputs is null then '{}' else jsonb_build_object('inputs', i.inputs) end)::bpm_core.draft_node order by n.pos), '{}')
    from node n
    left join called c on c.node_pos = n.pos
    left join leaving l on l.scope_pos = n.scope_pos and l.node_id = n.node_id
    left join arriving a on a.scope_pos = n.scope_pos and a.node_id = n.node_id
    left join node sub on n.tag = 'startEvent' and sub.process_pos = n.process_pos and sub.node_id = n.scope_id and sub.tag = 'subProcess'
                      and sub.attributes @> '{"triggeredByEvent": "true"}'
    left join host h on h.scope_pos = n.scope_pos and h.node_id = n.attached_to
    left join lateral (
      select x.task_type from bpm_core.drawn_task_type(n.node_id, n.attributes, n.extensions) x where n.tag in ('serviceTask', 'sendTask', 'scriptTask', 'businessRuleTask')
      union all
      select bpm_core.drawn_send_type(n.node_id, n.attributes, n.definition, n.extensions)
       where n.event = 'message' and n.tag in ('intermediateThrowEvent', 'endEvent')) tt on true
    left join definition d on d.id = bpm_core.local_reference(coalesce(n.definition ->> 'errorRef', n.definition ->> 'messageRef',
                                                                      n.definition ->> 'signalRef', n.definition ->> 'escalationRef', n.attributes ->> 'messageRef'))
                          and d.tag in ('error', 'message', 'signal', 'escalation')
    left join lateral (
      select nullif(btrim(d.attributes ->> (d.tag || 'Code')), '') as error_code where n.event = d.tag and d.tag in ('error', 'escalation') offset 0) e on true
    left join lateral (select coalesce(d.name, d.id) as name where n.event = 'signal' and d.tag = 'signal' offset 0) s on true
    left join lateral (
      select x.* from bpm_core.drawn_message(n.attributes, d.id, d.name, d.attributes, d.extensions) x
       where d.tag = 'message' and (n.event = 'message' or n.tag = 'receiveTask') offset 0) m on true
    left join lateral (
      select x.* from bpm_core.drawn_timer(n.definition ->> 'timer_kind', n.definition ->> 'timer_rule') x where n.event = 'timer' offset 0) t on true
    left join lateral (
      select x.tree from bpm_core.compile_expression(n.definition ->> 'condition', false) x where n.event = 'conditional' and n.definition ? 'condition' offset 0) x on true
    left join lateral (
      select x.mappings as outputs from bpm_core.drawn_mappings(n.extensions, 'out') x
       where n.extensions ? 'mappings' and (n.tag = 'receiveTask' or n.event = 'message'
         or (n.tag in ('subProcess', 'transaction') and coalesce(n.attributes ->> 'triggeredByEvent', 'false') <> 'true')) offset 0) o on true
    left join lateral (
      select x.mappings as inputs from bpm_core.drawn_mappings(n.extensions, 'in') x
       where n.extensions ? 'mappings' and n.tag in ('subProcess', 'transaction')
         and coalesce(n.attributes ->> 'triggeredByEvent', 'false') <> 'true' offset 0) i on true
$$;

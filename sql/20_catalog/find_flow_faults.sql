-- Sequence flows that lead nowhere, cross a border, or carry a condition that cannot be compiled.
create or replace function bpm_core.find_flow_faults(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select distinct on (n.node_id) n.node_id, n.scope_pos, n.tag from unnest(p_nodes) n order by n.node_id, n.pos),
  flow as materialized (
    select f.*, s.tag as source_tag, t.tag as target_tag
      from unnest(p_flows) f left join node s on s.node_id = f.source_ref left join node t on t.node_id = f.target_ref
  )
  select bpm_core.fault('SequenceFlowSourceNotFound', format('Sequence flow "%s" %s.', f.flow_id, case
           when f.source_ref is null then 'has no source'
           when f.source_tag = 'endEvent' then format('leaves the end event "%s"', f.source_ref)
           when f.source_tag is not null then format('comes from "%s", which is in another process or sub-process', f.source_ref)
           else format('comes from "%s", which is no node', f.source_ref) end), null, f.flow_id, 'Connect it again, within one scope.')
    from flow f where f.source_id is null or f.source_tag = 'endEvent'
  union all
  select bpm_core.fault('SequenceFlowTargetNotFound', format('Sequence flow "%s" %s.', f.flow_id, case
           when f.target_ref is null then 'has no target'
           when f.target_id is not null then format('leads into the %s "%s"', case f.target_tag when 'startEvent' then 'start event' else 'boundary event' end, f.target_ref)
           when f.target_tag is not null then format('leads to "%s", which is in another process or sub-process', f.target_ref)
           else format('leads to "%s", which is no node', f.target_ref) end), null, f.flow_id, 'Connect it again, within one scope.')
    from flow f where f.target_id is null or f.target_tag in ('startEvent', 'boundaryEvent')
  union all
  select bpm_core.fault('InvalidCondition', format('Condition of sequence flow "%s" cannot be read: %s.', f.flow_id, f.problem), f.source_id, f.flow_id,
           'Understood are JUEL, ${order.amount > 1000 && !empty customer}, and FEEL, = order.amount > 1000 and customer != null; the documentation lists what they may say.')
    from flow f where f.problem is not null
  union all
  select bpm_core.warning('ConditionWithoutMarks', format('Condition of sequence flow "%s" has no ${…} around it; read as one.', f.flow_id), f.source_id, f.flow_id)
    from flow f where f.problem is null and f.language is not null
$$;

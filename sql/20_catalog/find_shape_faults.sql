-- Nodes whose flows do not make sense: gateways of a wrong shape, dead ends, nodes nothing leads to.
create or replace function bpm_core.find_shape_faults(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (
    select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label,
           coalesce(n.scope_tag = 'adHocSubProcess' or bpm_core.is_handler(n.attributes) or n.attributes @> '{"triggeredByEvent": "true"}'
             or n.event = 'link' or n.tag = 'boundaryEvent' and n.event = 'compensate', false) as unconnected
      from unnest(p_nodes) n
  ),
  loose as (
    select f.scope_pos, f.source_id as node_id, array_to_string((array_agg('"' || f.flow_id || '"' order by f.pos))[1:5], ', ') as flows
      from unnest(p_flows) f where f.condition_source is null and not f.is_default
     group by f.scope_pos, f.source_id
  )
  select bpm_core.fault('ExclusiveGatewayNoDefault', format('%s has several flows, and %s without a condition that %s.', n.label, l.flows,
             case when n.default_ref is null then 'is not the default: there is none' else 'is not the default either: there can be only one' end), n.node_id, null,
           'Give every flow but one a condition and make that one the default.')
    from node n join loose l on l.scope_pos = n.scope_pos and l.node_id = n.node_id
   where n.tag = 'exclusiveGateway' and n.outgoing > 1
  union all
  select bpm_core.fault('ParallelGatewayInvalidShape', format('%s takes every flow, but %s.', n.label,
             case when n.conditional > 0 then 'has one with a condition' else 'names a default' end), n.node_id, null, 'Remove it, or draw an exclusive gateway.')
    from node n where n.tag = 'parallelGateway' and (n.conditional > 0 or n.default_ref is not null)
  union all
  select bpm_core.fault('DeadEnd', format('%s has no outgoing flow and is no end event.', n.label), n.node_id, null, 'Connect it to an end event.')
    from node n where n.outgoing = 0 and n.tag not in ('endEvent', 'boundaryEvent') and not n.unconnected
  union all
  select bpm_core.warning('ImplicitEnd', format('%s has no outgoing flow: its path ends there.', n.label), n.node_id, null, 'Connect it to an end event.')
    from node n where n.outgoing = 0 and n.tag = 'boundaryEvent' and not n.unconnected
  union all
  select bpm_core.fault('OrphanNode', format('Nothing leads to %s.', n.label), n.node_id, null, 'Connect or remove it.')
    from node n where n.incoming = 0 and n.tag not in ('startEvent', 'boundaryEvent') and not n.unconnected
$$;

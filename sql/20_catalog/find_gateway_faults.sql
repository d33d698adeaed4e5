-- Event-based gateways of a wrong shape: what they wait for has to be an event of its own that only they lead to.
create or replace function bpm_core.find_gateway_faults(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label from unnest(p_nodes) n),
  gateway as materialized (select n.* from node n where n.tag = 'eventBasedGateway'),
  branch as materialized (
    select g.label, g.node_id, t.label as target_label, t.node_id as target_id, t.scope_pos, t.kind, t.tag, t.incoming
      from gateway g
      join unnest(p_flows) f on f.scope_pos = g.scope_pos and f.source_id = g.node_id
      join node t on t.scope_pos = f.scope_pos and t.node_id = f.target_id)
  select bpm_core.fault('EventGatewayInvalidShape', format('%s: %s.', x.label, x.problem), x.node_id, null,
           'Let each of its flows lead to a catch event or a receive task that nothing else leads to.')
    from (
      select g.label, g.node_id, 'it waits for events, so its flows have no condition and none is the default' as problem
        from gateway g where g.conditional > 0 or g.default_ref is not null
      union all
      select b.label, b.node_id, format('it leads to %s, which waits for nothing', b.target_label)
        from branch b where b.tag not in ('intermediateCatchEvent', 'receiveTask')
      union all
      select b.label, b.node_id, format('it leads to %s, which something else leads to as well', b.target_label)
        from branch b where b.tag in ('intermediateCatchEvent', 'receiveTask') and b.incoming > 1
      union all
      select b.label, b.node_id, format('it leads to %s, which has boundary events', b.target_label)
        from branch b
       where b.tag = 'receiveTask' and exists (select from node e where e.scope_pos = b.scope_pos and e.attached_to = b.target_id)) x
  union all
  select bpm_core.fault('UnsupportedElement', g.label || ' starts the process, which only a start event does here.', g.node_id, null,
           'See the table of elements in the documentation for what is executed.')
    from gateway g where g.attributes ->> 'instantiate' = 'true'
$$;

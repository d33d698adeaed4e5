-- Link events that lead nowhere, come from nowhere, or are ambiguous.
create or replace function bpm_core.find_link_faults(p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with link as materialized (
    select n.scope_pos, n.node_id, n.tag = 'intermediateThrowEvent' as throws, n.incoming, n.outgoing, nullif(btrim(n.definition ->> 'name'), '') as name,
           bpm_core.element_label(n.tag, n.node_id, n.name) as label
      from unnest(p_nodes) n
     where n.event = 'link' and n.tag in ('intermediateThrowEvent', 'intermediateCatchEvent')
  )
  select bpm_core.fault('UnknownReference', l.label || ' is a link without a name.', l.node_id, null, 'Name the link; the events of one name belong together.')
    from link l where l.name is null
  union all
  select bpm_core.fault('UnknownReference', format('%s leads to the link "%s", which %s.', l.label, left(l.name, 200),
             case when c.catches = 0 then 'no event of its scope catches' else 'several events of its scope catch' end), l.node_id, null,
           'Draw exactly one catching link event of that name.')
    from link l
   cross join lateral (select count(*) as catches from link c where not c.throws and c.scope_pos = l.scope_pos and c.name = l.name) c
   where l.throws and l.name is not null and c.catches <> 1
  union all
  select bpm_core.fault('OrphanNode', format('Nothing leads to %s: no event of its scope throws the link "%s".', l.label, left(l.name, 200)), l.node_id, null,
           'Connect or remove it.')
    from link l
   where not l.throws and l.name is not null and l.incoming = 0
  union all
  select bpm_core.fault('DeadEnd', format('%s is a link, so no sequence flow %s it.', l.label, case when l.throws then 'leaves' else 'leads to' end), l.node_id, null,
           'A throwing link has flows that come, a catching one flows that go.')
    from link l
   where exists (select from unnest(p_flows) f where f.scope_pos = l.scope_pos and f.flow_id not like '%:link'
                    and case when l.throws then f.source_id else f.target_id end = l.node_id)
  union all
  select bpm_core.fault(case when l.throws then 'OrphanNode' else 'DeadEnd' end,
           case when l.throws then format('Nothing leads to %s.', l.label) else format('%s has no outgoing flow and is no end event.', l.label) end, l.node_id, null, 'Connect or remove it.')
    from link l
   where case when l.throws then l.incoming else l.outgoing end = 0
$$;

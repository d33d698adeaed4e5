-- All flow nodes of the processes that are deployed, as drawn: nothing judged yet.
-- Returns:  draft_node[], in document order. Nodes without an id get one from tag and position.
create or replace function bpm_core.draft_nodes(p_elements bpm_core.bpmn_element[])
returns bpm_core.draft_node[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with scope as materialized (
    select s.*
      from bpm_core.bpmn_scopes(p_elements) s
      join bpm_core.bpmn_processes(p_elements) p on p.pos = s.process_pos and p.deployed
  ),
  node as materialized (
    select s.process_pos, s.pos as scope_pos, s.scope_id, s.tag as scope_tag, coalesce(e.id, e.tag || ':' || e.pos) as node_id, e.*
      from unnest(p_elements) e
      join scope s on s.pos = e.parent
     where e.space = 'bpmn' and e.tag = any (bpm_core.bpmn_flow_node_tags())
  ),
  child as (
    select c.parent, min(c.tag) filter (where c.tag like '%LoopCharacteristics') as loop,
           min(left(c.body, 2000)) filter (where c.tag = 'documentation') as documentation, min(left(c.body, 65536)) filter (where c.tag = 'script') as script
      from unnest(p_elements) c
     where c.space = 'bpmn' and (c.tag in ('documentation', 'script') or c.tag like '%LoopCharacteristics')
     group by c.parent
  )
  select coalesce(array_agg(row(
           n.pos, n.process_pos, n.scope_pos, n.scope_id, n.scope_tag, n.node_id, n.tag, nullif(btrim(n.attributes ->> 'name'), ''),
           n.attributes, coalesce(x.extensions, '{}') || case when c.script <> '' then jsonb_build_object('script', c.script) else '{}' end,
           case when n.tag ~ 'Event$' then coalesce(v.event, 'none') end, v.definition,
           nullif(btrim(n.attributes ->> 'default'), ''), nullif(btrim(n.attributes ->> 'attachedToRef'), ''),
           coalesce(lower(btrim(n.attributes ->> case n.tag when 'boundaryEvent' then 'cancelActivity' when 'startEvent' then 'isInterrupting' end)), 'true') not in ('false', '0'),
           c.loop, l.lane, nullif(c.documentation, ''),
           0, 0, 0, null, null, null, null, null, null, null, null, '{}')::bpm_core.draft_node order by n.pos), '{}')
    from node n
    left join bpm_core.bpmn_extensions(p_elements) x on x.owner_pos = n.pos
    left join bpm_core.bpmn_events(p_elements) v on v.node_pos = n.pos
    left join bpm_core.bpmn_lanes(p_elements) l on l.node_id = n.node_id
    left join child c on c.parent = n.pos
$$;

-- All sequence flows of the processes that are deployed, their ends looked up among the nodes of the same scope; and for every link throw event
-- the flow it stands for, <id>:link, to the catch event of the same name.
-- Returns:  draft_flow[], in document order. A flow without an id gets one from its place among the flows of its process.
create or replace function bpm_core.draft_flows(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns bpm_core.draft_flow[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with flow as materialized (
    select s.process_pos, s.pos as scope_pos, e.pos, nullif(btrim(e.attributes ->> 'name'), '') as name,
           coalesce(e.id, 'flow:' || row_number() over (partition by s.process_pos order by e.pos)) as flow_id,
           btrim(e.attributes ->> 'sourceRef') as source_ref, btrim(e.attributes ->> 'targetRef') as target_ref
      from unnest(p_elements) e
      join bpm_core.bpmn_scopes(p_elements) s on s.pos = e.parent
      join bpm_core.bpmn_processes(p_elements) p on p.pos = s.process_pos and p.deployed
     where e.space = 'bpmn' and e.tag = 'sequenceFlow'
  ),
  link as materialized (
    select distinct on (t.pos) t.process_pos, t.scope_pos, t.pos, t.node_id || ':link' as flow_id, t.node_id as source_id, c.node_id as target_id
      from unnest(p_nodes) t
      join unnest(p_nodes) c on c.scope_pos = t.scope_pos and c.tag = 'intermediateCatchEvent' and c.event = 'link'
                            and btrim(c.definition ->> 'name') = btrim(t.definition ->> 'name')
     where t.tag = 'intermediateThrowEvent' and t.event = 'link'
     order by t.pos, c.pos
  ),
  node as materialized (
    select distinct on (n.scope_pos, n.node_id) n.scope_pos, n.node_id, n.default_ref from unnest(p_nodes) n order by n.scope_pos, n.node_id, n.pos
  ),
  condition as materialized (
    select distinct on (c.parent) c.parent, nullif(c.body, '') as source, nullif(btrim(c.attributes ->> 'language'), '') as language
      from unnest(p_elements) c
     where c.space = 'bpmn' and c.tag = 'conditionExpression'
     order by c.parent, c.pos
  )
  select coalesce(array_agg(d.flow order by (d.flow).pos), '{}')
    from (
  select row(
           f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, s.node_id, t.node_id,
           coalesce(s.default_ref = f.flow_id, false),
           case when s.default_ref = f.flow_id then null else c.source end, c.language, null, null, 0, null)::bpm_core.draft_flow as flow
    from flow f
    left join node s on s.scope_pos = f.scope_pos and s.node_id = f.source_ref
    left join node t on t.scope_pos = f.scope_pos and t.node_id = f.target_ref
    left join condition c on c.parent = f.pos
      union all
      select row(l.pos, l.process_pos, l.scope_pos, l.flow_id, null, l.source_id, l.target_id, l.source_id, l.target_id, false, null, null, null, null, 0, null)::bpm_core.draft_flow
        from link l) d
$$;

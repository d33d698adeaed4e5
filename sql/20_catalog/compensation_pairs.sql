-- What is undone by what: an association ties a compensation boundary event to its handler, whichever way it is drawn; a compensation event sub-process
-- belongs to the sub-process around it.
-- Returns:  one row per event and handler: event_id, activity_id (null: the process), handler_id (null: there is none), whether that is drawn as one.
create or replace function bpm_core.compensation_pairs(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[])
returns table (process_pos integer, scope_pos integer, event_id text, activity_id text, handler_id text, is_handler boolean)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with line as materialized (
    select bpm_core.local_reference(e.attributes ->> 'sourceRef') as a, bpm_core.local_reference(e.attributes ->> 'targetRef') as b
      from unnest(p_elements) e
     where e.space = 'bpmn' and e.tag = 'association'
  ),
  tied as (select l.a as event_id, l.b as node_id from line l union select l.b, l.a from line l),
  activity as materialized (
    select n.scope_pos, n.node_id, n.attributes from unnest(p_nodes) n where n.tag not like '%Event' and n.tag not like '%Gateway')
  select b.process_pos, b.scope_pos, b.node_id, b.attached_to, h.node_id, bpm_core.is_handler(h.attributes)
    from unnest(p_nodes) b
    left join (tied t join activity h on h.node_id = t.node_id) on t.event_id = b.node_id and h.scope_pos = b.scope_pos
   where b.kind = 'CompensationBoundary' and b.tag = 'boundaryEvent'
  union all
  select s.process_pos, e.scope_pos, s.node_id, e.scope_id, e.node_id, true
    from unnest(p_nodes) s
    join unnest(p_nodes) e on e.process_pos = s.process_pos and e.node_id = s.scope_id
   where s.kind = 'CompensationBoundary' and s.tag = 'startEvent'
$$;

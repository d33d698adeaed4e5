-- The elements that hold flow nodes: processes and the sub-processes in them, however deep.
-- Returns:  one row per container: pos, the process it belongs to, its id (null for the process itself: the root scope), its tag.
create or replace function bpm_core.bpmn_scopes(p_elements bpm_core.bpmn_element[])
returns table (pos integer, process_pos integer, scope_id text, tag text, event_started boolean)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with recursive container as materialized (
    select e.pos, e.parent, e.id, e.tag, e.attributes
      from unnest(p_elements) e
     where e.space = 'bpmn' and e.tag in ('process', 'subProcess', 'transaction', 'adHocSubProcess')
  ),
  nested (pos, process_pos, scope_id, tag, event_started) as (
    select c.pos, c.pos, null::text, c.tag, false
      from container c
     where c.tag = 'process' and c.parent = 0
    union all
    select c.pos, n.process_pos, coalesce(c.id, c.tag || ':' || c.pos), c.tag, c.attributes ->> 'triggeredByEvent' = 'true'
      from nested n join container c on c.parent = n.pos
     where c.tag <> 'process'
  )
  select n.pos, n.process_pos, n.scope_id, n.tag, coalesce(n.event_started, false) from nested n
$$;

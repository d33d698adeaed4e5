-- The innermost lane of every flow node that stands in one.
-- Returns:  node id as referred to, and the lane's name (its id when it has none).
create or replace function bpm_core.bpmn_lanes(p_elements bpm_core.bpmn_element[])
returns table (node_id text, lane text)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (r.body) r.body, coalesce(nullif(btrim(l.attributes ->> 'name'), ''), l.id)
    from unnest(p_elements) r
    join unnest(p_elements) l on l.pos = r.parent
   where r.space = 'bpmn' and r.tag = 'flowNodeRef' and l.tag = 'lane'
   order by r.body, l.pos desc
$$;

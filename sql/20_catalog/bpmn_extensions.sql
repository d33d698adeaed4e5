-- The extension elements of every element that has some.
-- Returns:  one row per owner: an object keyed alias:tag (the first of each), with the attributes and, as body, the text.
create or replace function bpm_core.bpmn_extensions(p_elements bpm_core.bpmn_element[])
returns table (owner_pos integer, extensions jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select h.parent, jsonb_object_agg(e.space || ':' || e.tag, e.attributes || jsonb_build_object('body', e.body) order by e.pos desc)
    from unnest(p_elements) h
    join unnest(p_elements) e on e.parent = h.pos
   where h.space = 'bpmn' and h.tag = 'extensionElements'
   group by h.parent
$$;

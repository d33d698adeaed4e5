-- The extension elements of every element that has some.
-- Returns:  one row per owner: an object keyed alias:tag (the first of each), with the attributes and, as body, the text; mappings and headers as
--           bpmn_mappings reads them, where there are any.
create or replace function bpm_core.bpmn_extensions(p_elements bpm_core.bpmn_element[])
returns table (owner_pos integer, extensions jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select o.owner_pos, o.extensions || coalesce(m.mappings, '{}')
    from (select h.parent as owner_pos, jsonb_object_agg(e.space || ':' || e.tag, e.attributes || jsonb_build_object('body', e.body) order by e.pos desc) as extensions
            from unnest(p_elements) h
            join unnest(p_elements) e on e.parent = h.pos
           where h.space = 'bpmn' and h.tag = 'extensionElements'
           group by h.parent) o
    left join bpm_core.bpmn_mappings(p_elements) m on m.owner_pos = o.owner_pos
$$;

-- Input and output mappings of Camunda 7 and Zeebe, and what is said to workers besides: Zeebe's task headers, Camunda's extension properties.
-- Returns:  one row per owner: {"mappings": [{direction in|out, target, source | list | map | script}], "headers": {name: text}}, each where there is one.
create or replace function bpm_core.bpmn_mappings(p_elements bpm_core.bpmn_element[])
returns table (owner_pos integer, mappings jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with element as materialized (
    select e.* from unnest(p_elements) e where e.space in ('camunda', 'zeebe') or (e.space = 'bpmn' and e.tag = 'extensionElements')
  ),
  part as materialized (
    select h.parent as owner_pos, p.pos, p.tag, p.body, p.attributes
      from element h
      join element i on i.parent = h.pos and i.tag in ('inputOutput', 'ioMapping', 'taskHeaders', 'properties')
      join element p on p.parent = i.pos
     where h.tag = 'extensionElements'
  ),
  inner_part as (
    select c.parent, min(c.tag) as tag, jsonb_agg(g.body order by g.pos) filter (where g.pos is not null) as list,
           jsonb_object_agg(coalesce(g.attributes ->> 'key', ''), g.body) filter (where g.pos is not null) as map, bool_or(g.tag = 'script' or d.pos is not null) as deep
      from part p
      join element c on c.parent = p.pos
      left join element g on g.parent = c.pos
      left join element d on d.parent = g.pos
     group by c.parent
  )
  select p.owner_pos, jsonb_strip_nulls(jsonb_build_object(
           'mappings', jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
              'direction', case when p.tag in ('input', 'inputParameter') then 'in' else 'out' end,
              'target', coalesce(p.attributes ->> 'target', p.attributes ->> 'name'),
              'source', case when i.tag is null then coalesce(p.attributes ->> 'source', p.body) end,
              'list', case when i.tag = 'list' and not i.deep then coalesce(i.list, '[]') end,
              'map', case when i.tag = 'map' and not i.deep then coalesce(i.map, '{}') end,
              'script', case when i.tag not in ('list', 'map') or i.deep then true end)) order by p.pos)
             filter (where p.tag in ('input', 'inputParameter', 'output', 'outputParameter')),
           'headers', jsonb_object_agg(coalesce(p.attributes ->> 'key', p.attributes ->> 'name', ''), coalesce(p.attributes ->> 'value', p.body))
             filter (where p.tag in ('header', 'property'))))
    from part p
    left join inner_part i on i.parent = p.pos
   group by p.owner_pos
$$;

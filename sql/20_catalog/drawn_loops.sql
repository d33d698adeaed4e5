-- What the drawing says of every activity that is done more than once.
-- Returns:  one row per element with loop characteristics: its position, the spec for workflow_node.expressions, or problem and hint.
create or replace function bpm_core.drawn_loops(p_elements bpm_core.bpmn_element[])
returns table (owner_pos integer, spec jsonb, problem text, hint text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with loop as materialized (
    select l.pos, l.parent, l.tag, l.attributes from unnest(p_elements) l where l.space = 'bpmn' and l.tag like '%LoopCharacteristics'),
  child as (
    select c.parent, jsonb_object_agg(c.tag, coalesce(nullif(c.body, ''), c.attributes ->> 'name', c.id)) as children
      from unnest(p_elements) c
      join loop l on l.pos = c.parent
     where c.space = 'bpmn'
     group by c.parent)
  select l.parent, case when d.problem is null then d.spec end, d.problem, d.hint
    from (select distinct on (l.parent) l.* from loop l order by l.parent, l.pos) l
    left join child c on c.parent = l.pos
    left join bpm_core.bpmn_extensions(p_elements) x on x.owner_pos = l.pos
   cross join lateral bpm_core.drawn_loop(l.tag, l.attributes, coalesce(c.children, '{}'), coalesce(x.extensions, '{}')) d
$$;

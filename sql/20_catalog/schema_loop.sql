-- Definitions that lead to themselves without going into the value: checking them would not end.
-- Returns:  text, null when there are none.
create or replace function bpm_core.schema_loop(p_schema jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with recursive part as (
    select '#' as owner, p_schema - '$defs' as node, 0 as depth where jsonb_typeof(p_schema) = 'object'
    union all
    select '#/$defs/' || d.key, d.value, 0 from jsonb_each(case jsonb_typeof(p_schema -> '$defs') when 'object' then p_schema -> '$defs' else '{}' end) d
    union all
    select p.owner, c.node, p.depth + 1
      from part p
     cross join lateral bpm_core.schema_children(p.node, '') c
     where p.depth < 40 and c.at ~ '^/(allOf|anyOf|oneOf|not)'),
  edge as (
    select distinct p.owner, p.node ->> '$ref' as target from part p where jsonb_typeof(p.node) = 'object' and p.node ? '$ref'),
  way as (
    select e.owner, e.target from edge e
    union
    select w.owner, e.target from way w join edge e on e.owner = w.target)
  select min(format('%s: leads to itself without going into the value', substr(w.owner, 2))) from way w where w.owner = w.target
$$;

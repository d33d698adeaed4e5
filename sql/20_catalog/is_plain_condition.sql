-- Whether jsonpath can say a condition: logic, comparisons of paths and literals, empty and is defined of a path.
create or replace function bpm_core.is_plain_condition(p_tree jsonb)
returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select p_tree::text !~ '"op": "(?!(and|or|not|eq|ne|lt|le|gt|ge|empty|defined|path|value)")'
$$;

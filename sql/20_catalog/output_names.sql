-- Which variables the output element of a multi-instance is made of, besides those each item has anyway.
-- Returns:  jsonb {names, simple: it is one path and nothing else}.
create or replace function bpm_core.output_names(p_tree jsonb, p_known text[])
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('simple', p_tree ->> 'op' in ('path', 'member'), 'names', coalesce(jsonb_agg(distinct n.name), '[]'))
    from jsonb_path_query(p_tree, 'strict $.** ? (@.op == "path").path') p(path)
   cross join lateral (select p.path ->> 0 as name) n
   where n.name is not null and n.name <> all (array_remove(p_known, null))
     and not jsonb_path_exists(p_tree, 'strict $.** ? (@.var == $name)', jsonb_build_object('name', n.name))
$$;

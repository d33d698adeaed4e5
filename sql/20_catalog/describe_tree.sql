-- What an expression looks at and what it saw there, for the detail of an incident: every path in it with its value and type.
-- What loops name is left out. Values longer than 1,000 characters are cut, encrypted ones left out.
-- Returns:  jsonb array of {path, value, type}; type is missing, null, boolean, number, string, array, object or encrypted.
create or replace function bpm_core.describe_tree(p_tree jsonb, p_variables jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'path', array_to_string(x.path, '.'),
           'value', case when x.value #>> '{}' like '\_\_encrypted:%' then null
                         when length(x.value::text) > 1000 then to_jsonb(left(x.value::text, 1000) || '…') else x.value end,
           'type', case when x.value is null then 'missing' when x.value #>> '{}' like '\_\_encrypted:%' then 'encrypted' else jsonb_typeof(x.value) end)
           order by x.ord), '[]')
    from (select min(q.ord) as ord, p.path, p_variables #> p.path as value
            from jsonb_path_query(p_tree, 'strict $.** ? (@.op == "path").path') with ordinality q (path, ord)
           cross join lateral (select array(select jsonb_array_elements_text(q.path)) as path) p
           where not jsonb_path_exists(p_tree, 'strict $.** ? (@.var == $name)', jsonb_build_object('name', p.path[1]))
           group by p.path) x
$$;

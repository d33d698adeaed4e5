-- jsonpath: does a path of this comparison lead through an encrypted text? What stands behind it is not missing but unknown.
-- Only the first 32 names are asked about: the text grows with their square.
-- Returns:  text; null when no path is longer than one name.
create or replace function bpm_core.write_hidden(p_tree jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select string_agg(bpm_core.write_typed(jsonb_path_query_array(o.operand, '$.path[0 to $last]', jsonb_build_object('last', n.last)),
                                         '@ starts with "__encrypted:"'), ' || ' order by o.at, n.last)
    from (values (1, p_tree), (2, p_tree -> 'left'), (3, p_tree -> 'right'), (4, p_tree -> 'arg')) o(at, operand)
   cross join lateral generate_series(0, least(jsonb_array_length(o.operand -> 'path'), 33) - 2) n(last)
   where o.operand ? 'path'
$$;

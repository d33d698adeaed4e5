-- The tree of what one mapping gives: an expression or text, a list of them, or a map of them. Nothing at all is null.
-- Returns:  tree, or problem with its position.
create or replace function bpm_core.mapping_tree(p_mapping jsonb, out tree jsonb, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_mapping ? 'source' then
    select case when btrim(p_mapping ->> 'source') = '' then '{"op": "value", "value": null}'::jsonb else c.tree end, c.problem || ' (position ' || c.at || ')'
      into tree, problem
      from bpm_core.compile_expression(p_mapping ->> 'source') c;
    return;
  end if;
  select jsonb_build_object('op', case when p_mapping ? 'map' then 'context' else 'list' end, 'args', coalesce(jsonb_agg(c.tree order by e.n), '[]'),
                            'keys', coalesce(jsonb_agg(e.key order by e.n), '[]')),
         min(c.problem || ' (position ' || c.at || ')')
    into tree, problem
    from (select null as key, l.value, l.n from jsonb_array_elements_text(p_mapping -> 'list') with ordinality l(value, n)
          union all
          select m.key, m.value, m.n from jsonb_each_text(p_mapping -> 'map') with ordinality m(key, value, n)) e
   cross join lateral bpm_core.compile_expression(e.value) c;
  tree := bpm_core.timed_tree(tree);
end
$$;

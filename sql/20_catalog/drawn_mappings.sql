-- The mappings of one direction (in or out), compiled for map_values; scripts are left out, which find_ignored says.
-- Returns:  mappings: [{target: dotted path, source, tree}], null when there are none; problems: what cannot be read.
create or replace function bpm_core.drawn_mappings(p_extensions jsonb, p_direction text, out mappings jsonb, out problems text[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_mapping record;
  r_tree    record;
begin
  for r_mapping in
    select m.value ->> 'target' as target, m.value as mapping
      from jsonb_array_elements(p_extensions -> 'mappings') with ordinality m(value, n)
     where m.value ->> 'direction' = p_direction and not m.value ? 'script'
     order by m.n
  loop
    select t.tree, t.problem into r_tree from bpm_core.mapping_tree(r_mapping.mapping) t;
    if regexp_replace(coalesce(r_mapping.target, ''), '^=\s*', '') !~ '^([A-Za-z_$]|[^\u0001-\u007f])[^.]*(\.[^.]+)*$' then
      problems := problems || format('the target %s of a mapping is no name', quote_literal(left(coalesce(r_mapping.target, ''), 100)));
    elsif r_tree.problem is not null then
      problems := problems || format('mapping of %s: %s', left(r_mapping.target, 100), r_tree.problem);
    else
      mappings := coalesce(mappings, '[]') || jsonb_build_array(jsonb_build_object(
        'target', regexp_replace(r_mapping.target, '^=\s*', ''),
        'source', left(coalesce(r_mapping.mapping ->> 'source', (r_mapping.mapping - 'direction')::text), 1000), 'tree', r_tree.tree));
    end if;
  end loop;
end
$$;

-- prefixItems, items: checks the items of an array, up to the first that breaks its schema.
create or replace function bpm_core.schema_check_items(
  p_root jsonb, p_schema jsonb, p_value jsonb, p_at text, p_depth integer, p_hidden boolean, p_steps integer)
returns bpm_core.schema_verdict
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_verdict bpm_core.schema_verdict := row(null, false, p_steps);
  r_item    record;
begin
  for r_item in
    select i.n - 1 as place, i.value, coalesce(p_schema -> 'prefixItems' -> (i.n - 1)::integer, p_schema -> 'items') as rule
      from jsonb_array_elements(p_value) with ordinality i(value, n)
  loop
    continue when r_item.rule is null or r_item.rule = 'true';
    v_verdict := bpm_core.schema_check(p_root, r_item.rule, r_item.value, p_at || '/' || r_item.place, p_depth + 1, p_hidden, v_verdict.steps);
    exit when v_verdict.fault is not null;
  end loop;
  return v_verdict;
end
$$;

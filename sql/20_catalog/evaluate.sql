-- The value of a compiled expression over variables. Numbers stay exact; a time comes out as ISO 8601 text, in UTC.
-- Returns:  jsonb; JSON null is null, SQL NULL is undecidable, also when the work allowed does not suffice.
create or replace function bpm_core.evaluate(p_tree jsonb, p_variables jsonb)
returns jsonb
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tree ->> 'op' = 'value' then
    return p_tree -> 'value';
  elsif p_tree ? 'timed' then
    return bpm_core.plain_times(bpm_core.evaluate_tree(p_tree, p_variables, jsonb_build_object('now()', bpm_core.instant_value(bpm_core.now())), 200000));
  end if;
  return bpm_core.evaluate_tree(p_tree, p_variables, '{}', 200000);
end
$$;

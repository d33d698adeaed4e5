-- The value of a compiled expression over variables, p_locals before them. Numbers stay exact; a time comes out as ISO 8601 text, in UTC.
-- Returns:  jsonb; JSON null is null, SQL NULL is undecidable, also when the work allowed does not suffice.
create or replace function bpm_core.evaluate(p_tree jsonb, p_variables jsonb, p_locals jsonb default '{}')
returns jsonb
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tree ->> 'op' = 'value' then
    return coalesce(p_tree -> 'value', 'null');
  elsif p_tree ? 'timed' then
    return bpm_core.plain_times(bpm_core.evaluate_tree(p_tree, p_variables, p_locals || jsonb_build_object('now()', bpm_core.instant_value(bpm_core.now())), 200000));
  end if;
  return bpm_core.evaluate_tree(p_tree, p_variables, p_locals, 200000);
end
$$;

-- Does a value meet a schema that schema_problem found nothing wrong with? An encrypted text meets only what says that it may be one, or says nothing
-- about it: what was promised to be checked is never taken unchecked. Whoever checks too much (50,000 steps, 100 deep) has not met it.
-- Steps are of about equal time: much of a value, or of what is asked of it, is many (schema_weight).
-- Returns:  text, the first thing that is wrong with a JSON pointer to it; null when nothing is, or there is no schema.
create or replace function bpm_core.schema_fault(p_schema jsonb, p_value jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_schema is null then
    return null;
  end if;
  return bpm_core.at_pointer((bpm_core.schema_check(p_schema, p_schema, coalesce(p_value, 'null'), '', 0, bpm_core.has_hidden(p_value), 0)).fault);
end
$$;

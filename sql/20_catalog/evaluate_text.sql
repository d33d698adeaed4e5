-- The value of a compiled expression as a text: what becomes a key, a name, a date.
-- Returns:  text; null when it is undecidable or no scalar.
create or replace function bpm_core.evaluate_text(p_tree jsonb, p_variables jsonb)
returns text
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value constant jsonb := bpm_core.evaluate(p_tree, p_variables);
begin
  return case when jsonb_typeof(v_value) in ('string', 'number', 'boolean') then v_value #>> '{}' end;
end
$$;

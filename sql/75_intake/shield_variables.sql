-- Variables that have been decoded already, for a function that decodes them: a text that begins like a wire form is put into one, so that it stays what it is.
-- Returns:  jsonb object.
create or replace function bpm_core.shield_variables(p_variables jsonb)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not jsonb_path_exists(p_variables, '$.* ? (@.type() == "string" && @ starts with "__var:1:")') then
    return p_variables;
  end if;
  return (
    select jsonb_object_agg(v.key, case when jsonb_typeof(v.value) = 'string' and starts_with(v.value #>> '{}', '__var:1:')
                                        then to_jsonb('__var:1:' || v.value::text) else v.value end)
      from jsonb_each(p_variables) v);
end
$$;

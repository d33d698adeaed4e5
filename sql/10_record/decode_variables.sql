-- Takes the wire form off values: __var:1: + JSON becomes that JSON. Encrypted values stay as they are, opaque. Call variables_fault first.
-- Returns:  jsonb object.
create or replace function bpm_core.decode_variables(p_variables jsonb)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not jsonb_path_exists(p_variables, '$.* ? (@.type() == "string" && @ starts with "__var:1:")') then
    return p_variables;
  end if;
  return (
    select jsonb_object_agg(v.key, case when starts_with(v.value #>> '{}', '__var:1:') then substr(v.value #>> '{}', 9)::jsonb else v.value end)
      from jsonb_each(p_variables) v);
end
$$;

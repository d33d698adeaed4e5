-- Is this a regular expression we take (schema_pattern), and can it be compiled?
create or replace function bpm_core.is_pattern(p_pattern text)
returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pattern text := bpm_core.schema_pattern(p_pattern);
begin
  if v_pattern is null then
    return false;
  end if;
  perform '' collate "C" ~ v_pattern collate "C";
  return true;
exception
  when invalid_regular_expression then
    return false;
end
$$;

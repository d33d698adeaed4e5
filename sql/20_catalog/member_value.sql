-- A member of an object, or a part of a time (year, month, day, hour, minute, second). Of anything else there is none: null.
-- Returns:  jsonb; SQL NULL of an encrypted text, and of what is undecidable itself.
create or replace function bpm_core.member_value(p_value jsonb, p_name text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(p_value) = 'object' then
    return coalesce(p_value -> p_name, 'null');
  elsif jsonb_typeof(p_value) = 'string' and starts_with(p_value #>> '{}', '__') then
    return case when bpm_core.is_hidden(p_value) then null else bpm_core.time_part(p_value #>> '{}', p_name) end;
  end if;
  return case when p_value is not null then 'null'::jsonb end;
end
$$;

-- Is this an array of at most 100 texts of 1 to 1,000 characters, none twice?
create or replace function bpm_core.is_text_list(p_value jsonb)
returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(p_value) is distinct from 'array' or jsonb_array_length(p_value) > 100 then
    return false;
  end if;
  return not exists (select from jsonb_array_elements(p_value) e where jsonb_typeof(e) <> 'string' or length(e #>> '{}') not between 1 and 1000)
     and (select count(distinct e) = count(*) from jsonb_array_elements(p_value) e);
end
$$;

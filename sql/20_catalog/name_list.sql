-- Names out of a text with commas between, or a list of texts.
-- Returns:  text[], '{}' of null; null when it is neither.
create or replace function bpm_core.name_list(p_value jsonb)
returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case jsonb_typeof(p_value)
    when 'null' then '{}'::text[]
    when 'string' then array(select btrim(g) from regexp_split_to_table(p_value #>> '{}', ',') g where btrim(g) <> '')
    when 'number' then array[p_value #>> '{}']
    when 'array' then case when not jsonb_path_exists(p_value, '$[*] ? (@.type() != "string" && @.type() != "number")')
      then array(select btrim(e) from jsonb_array_elements_text(p_value) e) end end
$$;

-- Is this a map of variables we take? An object, within the caps, no text that forges a wire form of ours.
-- Nesting is capped because what parses at the top of the stack may not be copied any more deep inside a command.
-- Returns:  text, what is wrong; null when nothing is.
create or replace function bpm_core.variables_fault(p_variables jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size  integer;
  v_limit integer;
  v_name  text;
begin
  if jsonb_typeof(p_variables) is distinct from 'object' then
    return format('Variables must be a JSON object, not %s.', coalesce(jsonb_typeof(p_variables), 'missing'));
  end if;
  v_size := pg_column_size(p_variables || '{}');  -- concatenated with nothing: a value from a table may arrive compressed
  if v_size > 65536 then
    v_limit := (bpm_core.setting_value('engine.max_variables_bytes', '1048576'))::integer;
    if v_size > v_limit then
      return format('Variables of %s bytes exceed the limit of %s bytes; keep large values elsewhere and refer to them (artifact://).', v_size, v_limit);
    end if;
    v_limit := (bpm_core.setting_value('engine.max_value_bytes', '262144'))::integer;
    select v.key into v_name
      from jsonb_each(p_variables) v
     where pg_column_size(v.value) > v_limit
     order by v.key
     limit 1;
    if v_name is not null then
      return format('Variable %s exceeds the limit of %s bytes for one value; keep it elsewhere and refer to it (artifact://).', v_name, v_limit);
    end if;
  end if;
  if v_size > 4000 and jsonb_path_exists(p_variables, '$.**{501}') then
    return 'Variables are nested deeper than 500 levels.';
  end if;
  if (v_size > 1000 or length(p_variables::text) > 4000) and bpm_core.has_huge_number(p_variables) then
    return 'Variables hold a number of more than 1,000 digits.';
  end if;
  if jsonb_path_exists(p_variables, '$.* ? (@.type() == "string" && @ starts with "__")') then
    select v.key into v_name
      from jsonb_each_text(p_variables) v
     where v.value ~ '^__[a-z]+:' and v.value !~ '^__encrypted:' and not bpm_core.is_wire_json(v.value)
     order by v.key
     limit 1;
    if v_name is not null then
      return format('Variable %s starts with a reserved prefix but is no wire form.', v_name);
    end if;
  end if;
  return null;
end
$$;

-- What of a schema a value breaks, those parts left aside that are schemas themselves.
-- Returns:  text without a pointer, null when nothing.
create or replace function bpm_core.schema_plain_fault(p_schema jsonb, p_value jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_type text := jsonb_typeof(p_value);
begin
  if p_schema ? 'type' and not (p_schema -> 'type' ? v_type or (v_type = 'number' and p_schema -> 'type' ? 'integer' and p_value::numeric % 1 = 0)) then
    return format('must be of type %s, is %s', replace(btrim((p_schema -> 'type')::text, '[]'), '"', ''), v_type);
  elsif p_schema ? 'const' and p_schema -> 'const' <> p_value then
    return 'must be ' || left((p_schema -> 'const')::text, 200);
  elsif p_schema ? 'enum' and not (p_schema -> 'enum' @> p_value and v_type not in ('object', 'array'))
        and (v_type not in ('object', 'array') or not exists (select from jsonb_array_elements(p_schema -> 'enum') e where e = p_value)) then
    return 'must be one of ' || left((p_schema -> 'enum')::text, 200);
  elsif p_schema ? 'format' then
    return 'must be encrypted';
  end if;
  return case v_type
    when 'object' then case when p_schema ?| '{required,minProperties,maxProperties}' then bpm_core.schema_object_fault(p_schema, p_value) end
    when 'array' then case when p_schema ?| '{minItems,maxItems,uniqueItems}' then bpm_core.schema_array_fault(p_schema, p_value) end
    when 'string' then case when p_schema ?| '{minLength,maxLength,pattern}' then bpm_core.schema_text_fault(p_schema, p_value #>> '{}') end
    when 'number' then case when p_schema ?| '{minimum,maximum,exclusiveMinimum,exclusiveMaximum,multipleOf}' then bpm_core.schema_number_fault(p_schema, p_value::numeric) end
  end;
end
$$;

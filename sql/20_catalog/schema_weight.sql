-- What checking a value against one schema costs beyond the one step it counts as, in steps of about 20 microseconds: parts of the schema that are gone through,
-- and of the value. So that the bound of a check is one of time, whatever is asked of how large a value.
-- Returns:  integer.
create or replace function bpm_core.schema_weight(p_schema jsonb, p_value jsonb)
returns integer
language sql stable parallel safe
as $$
  select pg_column_size(p_value) / 200
         + case when p_schema ?| '{enum,required}' then (coalesce(jsonb_array_length(p_schema -> 'enum'), 0) + coalesce(jsonb_array_length(p_schema -> 'required'), 0)) / 50 else 0 end
         + case when jsonb_typeof(p_value) = 'array' and p_schema -> 'uniqueItems' = 'true' then jsonb_array_length(p_value) / 4 else 0 end
$$;

-- minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, exactly, whatever the size. Returns: text, null when they are met.
create or replace function bpm_core.schema_number_fault(p_schema jsonb, p_value numeric)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_value < (p_schema -> 'minimum')::numeric then format('must be at least %s', left(p_schema ->> 'minimum', 50))
    when p_value > (p_schema -> 'maximum')::numeric then format('must be at most %s', left(p_schema ->> 'maximum', 50))
    when p_value <= (p_schema -> 'exclusiveMinimum')::numeric then format('must be above %s', left(p_schema ->> 'exclusiveMinimum', 50))
    when p_value >= (p_schema -> 'exclusiveMaximum')::numeric then format('must be below %s', left(p_schema ->> 'exclusiveMaximum', 50))
    when p_value % (p_schema -> 'multipleOf')::numeric <> 0 then format('must be a multiple of %s', left(p_schema ->> 'multipleOf', 50)) end
$$;

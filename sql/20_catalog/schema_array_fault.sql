-- minItems, maxItems, uniqueItems. Returns: text, null when they are met.
create or replace function bpm_core.schema_array_fault(p_schema jsonb, p_value jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when jsonb_array_length(p_value) < (p_schema ->> 'minItems')::integer then format('must have at least %s items', p_schema ->> 'minItems')
    when jsonb_array_length(p_value) > (p_schema ->> 'maxItems')::integer then format('must have at most %s items', p_schema ->> 'maxItems')
    when p_schema -> 'uniqueItems' = 'true' and (select count(distinct e) < count(*) from jsonb_array_elements(p_value) e) then 'must not have an item twice' end
$$;

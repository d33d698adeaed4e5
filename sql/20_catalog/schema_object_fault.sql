-- required, minProperties, maxProperties. Returns: text, null when they are met.
create or replace function bpm_core.schema_object_fault(p_schema jsonb, p_value jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when m.missing is not null then format('lacks %s', left(m.missing, 200))
    when n.members < (p_schema ->> 'minProperties')::integer then format('must have at least %s members', p_schema ->> 'minProperties')
    when n.members > (p_schema ->> 'maxProperties')::integer then format('must have at most %s members', p_schema ->> 'maxProperties') end
    from (select string_agg(r, ', ' order by r) as missing from jsonb_array_elements_text(coalesce(p_schema -> 'required', '[]')) r where not p_value ? r) m
   cross join (select count(*) as members from jsonb_object_keys(p_value)) n
$$;

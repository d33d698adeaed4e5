-- minLength, maxLength, pattern. Lengths count characters; a pattern may match anywhere. Returns: text, null when they are met.
create or replace function bpm_core.schema_text_fault(p_schema jsonb, p_value text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when length(p_value) < (p_schema ->> 'minLength')::integer then format('must have at least %s characters', p_schema ->> 'minLength')
    when length(p_value) > (p_schema ->> 'maxLength')::integer then format('must have at most %s characters', p_schema ->> 'maxLength')
    when p_value collate "C" !~ bpm_core.schema_pattern(p_schema ->> 'pattern') collate "C" then format('must match %s', left(p_schema ->> 'pattern', 200)) end
$$;

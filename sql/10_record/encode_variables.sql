-- The other way round of decode_variables: every value becomes a text. Texts stay as they are, encrypted ones too; what decode_variables would take for
-- something else, and what is no text, becomes __var:1: + JSON. Decoding gives back what was encoded.
-- Returns:  jsonb object of texts; null of null.
create or replace function bpm_core.encode_variables(p_variables jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
           jsonb_object_agg(v.key, case when jsonb_typeof(v.value) = 'string' and (v.value #>> '{}' !~ '^__[a-z]+:' or v.value #>> '{}' ~ '^__encrypted:') then v.value
                                        else to_jsonb('__var:1:' || v.value::text) end),
           case when p_variables is not null then '{}'::jsonb end)
    from jsonb_each(p_variables) v
$$;

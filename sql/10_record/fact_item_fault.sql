-- What is wrong with one fact as a worker tells it: {"subject_type", "subject_key", "name", "value", "evidence": [places, from 0], "expected_version"}.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.fact_item_fault(p_fact jsonb, p_pieces integer)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when jsonb_typeof(p_fact) <> 'object' then 'it must be an object.'
    when p_fact - '{subject_type,subject_key,name,value,evidence,expected_version}'::text[] <> '{}'
      then 'known keys are subject_type, subject_key, name, value, evidence, expected_version.'
    when jsonb_typeof(p_fact -> 'subject_type') is distinct from 'string' or length(p_fact ->> 'subject_type') not between 1 and 200
         or jsonb_typeof(p_fact -> 'subject_key') is distinct from 'string' or length(p_fact ->> 'subject_key') not between 1 and 300
         or jsonb_typeof(p_fact -> 'name') is distinct from 'string' or length(p_fact ->> 'name') not between 1 and 200
      then 'subject_type, subject_key and name must be texts of 1 to 200 characters, the key of up to 300.'
    when not p_fact ? 'value' then 'value is missing.'
    when coalesce(jsonb_typeof(p_fact -> 'expected_version'), 'null') not in ('number', 'null') or p_fact ->> 'expected_version' !~ '^[0-9]{1,9}$'
      then 'expected_version must be a whole number.'
    when coalesce(jsonb_typeof(p_fact -> 'evidence'), 'null') not in ('array', 'null')
         or exists (select
                      from jsonb_array_elements(case jsonb_typeof(p_fact -> 'evidence') when 'array' then p_fact -> 'evidence' else '[]' end) e
                     where jsonb_typeof(e) <> 'number' or e::text !~ '^[0-9]{1,3}$' or case when e::text ~ '^[0-9]{1,3}$' then e::text::integer end >= p_pieces)
      then 'evidence must be places in the list of evidence, from 0.'
  end
$$;

-- What is wrong with the definition of an owner role. Names of models or providers do not belong into one: who does the work is decided where it is
-- done, and a role outlives them; no list could tell such a name from a word, so that is a rule for people.
-- Returns:  text; null when nothing is.
create or replace function bpm_core.role_problem(p_definition jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when jsonb_typeof(p_definition) is distinct from 'object' then 'The definition of a role must be an object.'
    when octet_length(p_definition::text) > 65536 then 'The definition of a role has at most 65,536 bytes.'
    when p_definition - '{responsibilities,policy,capabilities,context_profile}'::text[] <> '{}'
      then format('A role has responsibilities, policy, capabilities and context_profile, not %s.',
                  (select string_agg(left(k, 100), ', ' order by k) from jsonb_object_keys(p_definition - '{responsibilities,policy,capabilities,context_profile}'::text[]) k))
    when exists (select from (values ('responsibilities'), ('capabilities')) l(key)
                  where p_definition ? l.key and not coalesce(bpm_core.is_text_list(p_definition -> l.key), false))
      then 'responsibilities and capabilities must be arrays of at most 100 texts of 1 to 1,000 characters.'
    when exists (select from (values ('policy'), ('context_profile')) o(key) where p_definition ? o.key and jsonb_typeof(p_definition -> o.key) <> 'object')
      then 'policy and context_profile must be objects.' end
$$;

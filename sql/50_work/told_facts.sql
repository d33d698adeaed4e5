-- The facts that come with answers, one row each; evidence_ids is left empty.
-- Returns:  told_fact[].
create or replace function bpm_core.told_facts(p_answers bpm_core.answer[])
returns bpm_core.told_fact[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select array(
    select row(a.item, f.fact ->> 'subject_type', f.fact ->> 'subject_key', f.fact ->> 'name', f.fact -> 'value', (f.fact ->> 'expected_version')::integer, '{}',
               null, null, null, null)::bpm_core.told_fact
      from unnest(p_answers) a
     cross join lateral jsonb_array_elements(a.record -> 'facts') with ordinality f(fact, n)
     order by a.item, f.n)
$$;

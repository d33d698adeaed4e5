-- Is this a record we take? Evidence as evidence_fault takes it, at most 100 facts, none said twice of the same subject, and as a verdict NeedsReview only,
-- with reasons or without.
-- Returns:  text, what is wrong; null when nothing is.
create or replace function bpm_core.record_fault(p_record jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_facts jsonb := p_record -> 'facts';
  v_fault text := bpm_core.evidence_fault(p_record -> 'evidence');
  r_bad   record;
begin
  if v_fault is not null then
    return v_fault;
  elsif p_record -> 'verdict' <> '"NeedsReview"' then
    return 'A verdict is Accepted or NeedsReview.';
  elsif p_record ? 'reasons' and not (p_record ? 'verdict' and bpm_core.is_text_list(p_record -> 'reasons')) then
    return 'Reasons come with the verdict NeedsReview: at most 100 different texts of 1 to 1000 characters.';
  elsif jsonb_typeof(v_facts) is distinct from 'array' then
    return 'Facts must be a JSON array.';
  elsif jsonb_array_length(v_facts) > 100 then
    return format('%s facts at once; at most 100.', jsonb_array_length(v_facts));
  end if;
  select f.n, bpm_core.fact_item_fault(f.fact, jsonb_array_length(p_record -> 'evidence')) as fault into r_bad
    from jsonb_array_elements(v_facts) with ordinality f(fact, n)
   where bpm_core.fact_item_fault(f.fact, jsonb_array_length(p_record -> 'evidence')) is not null
   order by f.n
   limit 1;
  if found then
    return 'Fact ' || r_bad.n || ': ' || r_bad.fault;
  end if;
  select f.n into r_bad
    from (select f.n, row_number() over (partition by f.fact ->> 'subject_type', f.fact ->> 'subject_key', f.fact ->> 'name' order by f.n) as nth
            from jsonb_array_elements(v_facts) with ordinality f(fact, n)) f
   where f.nth > 1
   order by f.n
   limit 1;
  if found then
    return format('Fact %s says the same thing of the same subject again.', r_bad.n);
  end if;
  -- Values keep the caps and the wire forms of variables.
  v_fault := bpm_core.variables_fault((select coalesce(jsonb_object_agg(f.n, f.fact -> 'value'), '{}') from jsonb_array_elements(v_facts) with ordinality f(fact, n)));
  return replace(v_fault, 'Variable', 'Fact');
end
$$;

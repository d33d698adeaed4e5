-- properties, additionalProperties: checks the members of an object, up to the first that breaks its schema.
create or replace function bpm_core.schema_check_members(
  p_root jsonb, p_schema jsonb, p_value jsonb, p_at text, p_depth integer, p_hidden boolean, p_steps integer)
returns bpm_core.schema_verdict
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_verdict bpm_core.schema_verdict := row(null, false, p_steps);
  r_member  record;
begin
  for r_member in
    select m.key, m.value, coalesce(p_schema -> 'properties' -> m.key, p_schema -> 'additionalProperties') as rule
      from jsonb_each(p_value) m
  loop
    continue when r_member.rule is null or r_member.rule = 'true';
    v_verdict := bpm_core.schema_check(p_root, r_member.rule, r_member.value, p_at || '/' || bpm_core.pointer_part(r_member.key), p_depth + 1, p_hidden, v_verdict.steps);
    exit when v_verdict.fault is not null;
  end loop;
  return v_verdict;
end
$$;

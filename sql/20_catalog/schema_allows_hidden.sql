-- May an encrypted text stand where this schema is asked? Where it says so, or says nothing at all. Not where finding out takes more than 1,000 steps:
-- definitions that refer to others twice are asked twice, and so on.
-- p_steps: taken so far. Returns: allowed; steps taken.
create or replace function bpm_core.schema_allows_hidden(p_root jsonb, p_schema jsonb, p_depth integer, p_steps integer, out allowed boolean, out steps integer)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key    text;
  v_met    integer;
  r_branch record;
begin
  steps := p_steps + 1;
  allowed := p_schema = 'true' or p_schema ->> 'format' = 'encrypted';
  if allowed or jsonb_typeof(p_schema) = 'boolean' then
    allowed := allowed is true;
    return;
  elsif p_depth > 40 or steps > 1000
        or exists (select from jsonb_object_keys(p_schema) k where k = any (bpm_core.schema_assertions()) and k not in ('$ref', 'allOf', 'anyOf', 'oneOf')) then
    allowed := false;
    return;
  elsif p_schema ? '$ref' then
    select h.allowed, h.steps into allowed, steps
      from bpm_core.schema_allows_hidden(p_root, bpm_core.schema_target(p_root, p_schema ->> '$ref'), p_depth + 1, steps) h;
    return;
  end if;
  allowed := true;
  foreach v_key in array array['allOf', 'anyOf', 'oneOf'] loop
    continue when not p_schema ? v_key;
    v_met := 0;
    for r_branch in select b.value from jsonb_array_elements(p_schema -> v_key) b loop
      select h.allowed, h.steps into allowed, steps from bpm_core.schema_allows_hidden(p_root, r_branch.value, p_depth + 1, steps) h;
      v_met := v_met + allowed::integer;
    end loop;
    allowed := steps <= 1000 and case v_key when 'allOf' then v_met = jsonb_array_length(p_schema -> v_key) when 'anyOf' then v_met > 0 else v_met = 1 end;
    exit when not allowed;
  end loop;
end
$$;

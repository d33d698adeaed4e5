-- Checks one value against one schema. p_at: the pointer to the value; p_hidden: there are encrypted texts in the whole of it; p_steps: taken so far.
-- Returns:  fault, null when it is met; unknown: it could not be checked, so that it does not meet the opposite either; steps taken.
create or replace function bpm_core.schema_check(
  p_root jsonb, p_schema jsonb, p_value jsonb, p_at text, p_depth integer, p_hidden boolean, p_steps integer)
returns bpm_core.schema_verdict
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_verdict bpm_core.schema_verdict := row(null, false, p_steps + 1 + case when jsonb_typeof(p_schema) = 'object' then bpm_core.schema_weight(p_schema, p_value) else 0 end);
begin
  if v_verdict.steps > 50000 or p_depth > 100 then
    return row(p_at || ': too much to check', true, v_verdict.steps)::bpm_core.schema_verdict;
  elsif jsonb_typeof(p_schema) = 'boolean' then
    v_verdict.fault := case when p_schema = 'false' then p_at || ': must not be there' end;
    return v_verdict;
  elsif p_schema ? '$ref' then
    return bpm_core.schema_check(p_root, bpm_core.schema_target(p_root, p_schema ->> '$ref'), p_value, p_at, p_depth + 1, p_hidden, v_verdict.steps);
  elsif p_hidden and bpm_core.is_hidden(p_value) then
    select h.steps, not h.allowed into v_verdict.steps, v_verdict.unknown from bpm_core.schema_allows_hidden(p_root, p_schema, 0, 0) h;
    v_verdict.steps := v_verdict.steps + p_steps;
    if v_verdict.unknown then
      v_verdict.fault := p_at || ': is encrypted, so it cannot be checked';
    end if;
    return v_verdict;
  elsif p_hidden and p_schema ?| '{enum,const,uniqueItems}' and bpm_core.has_hidden(p_value) then
    return row(p_at || ': has an encrypted text in it, so it cannot be compared', true, v_verdict.steps)::bpm_core.schema_verdict;
  end if;
  v_verdict.fault := p_at || ': ' || bpm_core.schema_plain_fault(p_schema, p_value);
  if v_verdict.fault is null and jsonb_typeof(p_value) = 'object' and p_schema ?| '{properties,additionalProperties}' then
    v_verdict := bpm_core.schema_check_members(p_root, p_schema, p_value, p_at, p_depth, p_hidden, v_verdict.steps);
  elsif v_verdict.fault is null and jsonb_typeof(p_value) = 'array' and p_schema ?| '{items,prefixItems}' then
    v_verdict := bpm_core.schema_check_items(p_root, p_schema, p_value, p_at, p_depth, p_hidden, v_verdict.steps);
  end if;
  if v_verdict.fault is null and p_schema ?| '{allOf,anyOf,oneOf,not}' then
    v_verdict := bpm_core.schema_check_branches(p_root, p_schema, p_value, p_at, p_depth, p_hidden, v_verdict.steps);
  end if;
  return v_verdict;
end
$$;

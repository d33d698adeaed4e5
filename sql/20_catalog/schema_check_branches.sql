-- allOf, anyOf, oneOf, not: checks the value against each branch. What one branch cannot tell is only made good by another that is met.
create or replace function bpm_core.schema_check_branches(
  p_root jsonb, p_schema jsonb, p_value jsonb, p_at text, p_depth integer, p_hidden boolean, p_steps integer)
returns bpm_core.schema_verdict
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_verdict bpm_core.schema_verdict;
  v_steps   integer := p_steps;
  v_met     integer;
  v_unknown boolean;
  v_first   text;
  r_branch  record;
  v_key     text;
begin
  foreach v_key in array array['allOf', 'anyOf', 'oneOf', 'not'] loop
    continue when not p_schema ? v_key;
    v_met := 0;
    v_unknown := false;
    v_first := null;
    for r_branch in select b.value from jsonb_array_elements(case v_key when 'not' then jsonb_build_array(p_schema -> v_key) else p_schema -> v_key end) b loop
      v_verdict := bpm_core.schema_check(p_root, r_branch.value, p_value, p_at, p_depth + 1, p_hidden, v_steps);
      v_steps := v_verdict.steps;
      if v_key = 'allOf' and v_verdict.fault is not null then
        return v_verdict;
      end if;
      v_met := v_met + (v_verdict.fault is null)::integer;
      v_unknown := v_unknown or coalesce(v_verdict.unknown, false);
      v_first := coalesce(v_first, v_verdict.fault);
    end loop;
    if v_key = 'anyOf' and v_met = 0 then
      return row(p_at || ': meets none of anyOf, the first not because of ' || bpm_core.at_pointer(v_first), v_unknown, v_steps)::bpm_core.schema_verdict;
    elsif v_key = 'oneOf' and (v_met <> 1 or v_unknown) then
      return row(p_at || ': must meet one of oneOf, ' || case when v_met > 1 then 'meets ' || v_met else 'not because of ' || bpm_core.at_pointer(v_first) end, v_unknown and v_met < 2, v_steps)::bpm_core.schema_verdict;
    elsif v_key = 'not' and (v_met = 1 or v_unknown) then
      return row(p_at || ': must not be so (not)', v_unknown, v_steps)::bpm_core.schema_verdict;
    end if;
  end loop;
  return row(null, false, v_steps)::bpm_core.schema_verdict;
end
$$;

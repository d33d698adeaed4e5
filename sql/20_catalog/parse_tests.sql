-- Reads the tests of FEEL's in: one, or several in brackets with commas between, of which one has to hold.
-- Returns:  expression_step.
create or replace function bpm_core.parse_tests(p_tokens bpm_core.expression_token[], p_from integer, p_left jsonb, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step  bpm_core.expression_step;
  v_tests jsonb := '[]'::jsonb;
  v_next  integer := p_from;
begin
  v_step := bpm_core.parse_unary(p_tokens, p_from, p_left, p_depth);
  if v_step.problem is null or (p_tokens[p_from]).kind <> '(' then
    return v_step;
  end if;
  loop
    v_step := bpm_core.parse_unary(p_tokens, v_next + 1, p_left, p_depth);
    if v_step.problem is not null then
      return v_step;
    end if;
    v_tests := v_tests || jsonb_build_array(v_step.tree);
    v_next := v_step.next;
    exit when (p_tokens[v_next]).kind <> ',';
  end loop;
  if (p_tokens[v_next]).kind <> ')' then
    return row(null, v_next, 'a closing bracket is missing', (p_tokens[v_next]).at)::bpm_core.expression_step;
  end if;
  return row(case when jsonb_array_length(v_tests) = 1 then v_tests -> 0 else jsonb_build_object('op', 'or', 'args', v_tests) end, v_next + 1, null, null)::bpm_core.expression_step;
end
$$;

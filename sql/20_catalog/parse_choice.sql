-- Reads the two branches of a choice whose condition was read: JUEL c ? a : b, FEEL if c then a else b.
-- p_step ends before the first word, p_then; p_else comes between the branches.
-- Returns:  expression_step.
create or replace function bpm_core.parse_choice(
  p_tokens bpm_core.expression_token[], p_step bpm_core.expression_step, p_then text, p_else text, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem text := bpm_core.condition_problem(p_step.tree);
  v_yes     bpm_core.expression_step;
  v_no      bpm_core.expression_step;
begin
  if p_step.problem is not null then
    return p_step;
  elsif v_problem is not null then
    return row(null, p_step.next, v_problem, (p_tokens[p_step.next]).at)::bpm_core.expression_step;
  elsif (p_tokens[p_step.next]).value is distinct from p_then then
    return row(null, p_step.next, format('%s is missing', p_then), (p_tokens[p_step.next]).at)::bpm_core.expression_step;
  end if;
  v_yes := bpm_core.parse_expression(p_tokens, p_step.next + 1, 0, p_feel, p_depth + 1);
  if v_yes.problem is not null then
    return v_yes;
  elsif (p_tokens[v_yes.next]).value is distinct from p_else then
    return row(null, v_yes.next, format('%s is missing', p_else), (p_tokens[v_yes.next]).at)::bpm_core.expression_step;
  end if;
  v_no := bpm_core.parse_expression(p_tokens, v_yes.next + 1, 0, p_feel, p_depth + 1);
  if v_no.problem is null then
    v_no.tree := jsonb_build_object('op', 'if', 'args', jsonb_build_array(p_step.tree, v_yes.tree, v_no.tree));
  end if;
  return v_no;
end
$$;

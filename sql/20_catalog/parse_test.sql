-- Reads what follows a value before FEEL's in or between: x between a and b, x in (a, b), x in [1..5], x in (< 5, > 10), x in list.
-- They are written as the comparisons they stand for. What is tested more than once and is no plain value is calculated once, by let.
-- Returns:  expression_step.
create or replace function bpm_core.parse_test(p_tokens bpm_core.expression_token[], p_step bpm_core.expression_step, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_simple constant boolean := p_step.tree ->> 'op' in ('path', 'value');
  v_left   constant jsonb := case when v_simple then p_step.tree else '{"op": "path", "path": ["in()"]}' end;
  v_word   constant bpm_core.expression_token := p_tokens[p_step.next];
  v_low    bpm_core.expression_step;
  v_result bpm_core.expression_step;
begin
  if bpm_core.is_condition(p_step.tree) then
    return row(null, p_step.next, format('%s asks about a value, not about a condition', v_word.value), v_word.at)::bpm_core.expression_step;
  elsif v_word.value = 'in' then
    v_result := bpm_core.parse_tests(p_tokens, p_step.next + 1, v_left, p_depth + 1);
  else
    v_low := bpm_core.parse_expression(p_tokens, p_step.next + 1, 4, true, p_depth + 1);
    if v_low.problem is null and (p_tokens[v_low.next]).kind <> 'and' then
      v_low.problem := 'and is missing after between';
      v_low.at := (p_tokens[v_low.next]).at;
    end if;
    if v_low.problem is not null then
      return v_low;
    end if;
    v_result := bpm_core.parse_expression(p_tokens, v_low.next + 1, 4, true, p_depth + 1);
    if v_result.problem is null then
      v_result.problem := coalesce(bpm_core.operator_problem('ge', v_left, v_low.tree, true), bpm_core.operator_problem('le', v_left, v_result.tree, true));
      v_result.at := case when v_result.problem is not null then v_word.at end;
      v_result.tree := bpm_core.interval_tree(v_left, 'ge', v_low.tree, 'le', v_result.tree);
    end if;
  end if;
  if v_result.problem is null and not v_simple then
    v_result.tree := jsonb_build_object('op', 'let', 'var', 'in()', 'arg', p_step.tree, 'body', v_result.tree);
  end if;
  return v_result;
end
$$;

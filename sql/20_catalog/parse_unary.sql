-- Reads one test of FEEL's in about p_left: < 5, [1..5], ]1..5[, (1..5), "a", ["a", "b"], or an expression that gives a value or a list.
-- Returns:  expression_step.
create or replace function bpm_core.parse_unary(p_tokens bpm_core.expression_token[], p_from integer, p_left jsonb, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token  constant bpm_core.expression_token := p_tokens[p_from];
  v_step   bpm_core.expression_step;
  v_low    bpm_core.expression_step;
  v_above  text;
  v_below  text;
begin
  if v_token.kind in ('lt', 'le', 'gt', 'ge', 'ne', 'eq') then
    v_step := bpm_core.parse_expression(p_tokens, p_from + 1, 4, true, p_depth + 1);
    if v_step.problem is null then
      v_step.problem := bpm_core.operator_problem(v_token.kind, p_left, v_step.tree, true);
      v_step.at := case when v_step.problem is not null then v_token.at end;
      v_step.tree := jsonb_build_object('op', v_token.kind, 'left', p_left, 'right', v_step.tree);
    end if;
    return v_step;
  elsif v_token.kind in ('[', '(', ']') then
    v_low := bpm_core.parse_expression(p_tokens, p_from + 1, 4, true, p_depth + 1);
    if v_low.problem is null and (p_tokens[v_low.next]).kind = '..' then
      v_step := bpm_core.parse_expression(p_tokens, v_low.next + 1, 4, true, p_depth + 1);
      v_above := case v_token.kind when '[' then 'ge' else 'gt' end;
      v_below := case (p_tokens[v_step.next]).kind when ']' then 'le' when ')' then 'lt' when '[' then 'lt' end;
      v_step.problem := coalesce(v_step.problem, case when v_below is null then 'a closing bracket is missing' end,
                                 bpm_core.operator_problem(v_above, p_left, v_low.tree, true), bpm_core.operator_problem(v_below, p_left, v_step.tree, true));
      v_step.at := case when v_step.problem is not null then coalesce(v_step.at, (p_tokens[v_step.next]).at) end;
      v_step.tree := bpm_core.interval_tree(p_left, v_above, v_low.tree, v_below, v_step.tree);
      v_step.next := v_step.next + 1;
      return v_step;
    end if;
  end if;
  v_step := bpm_core.parse_expression(p_tokens, p_from, 4, true, p_depth + 1);
  if v_step.problem is null then
    v_step.tree := case
      when v_step.tree ->> 'op' = 'value' then jsonb_build_object('op', 'eq', 'left', p_left, 'right', v_step.tree)
      when v_step.tree ->> 'op' = 'list' and jsonb_array_length(v_step.tree -> 'args') > 0 and not jsonb_path_exists(v_step.tree, '$.args[*] ? (@.op != "value")')
        then jsonb_build_object('op', 'or', 'args', (select jsonb_agg(jsonb_build_object('op', 'eq', 'left', p_left, 'right', a.tree) order by a.n)
                                                       from jsonb_array_elements(v_step.tree -> 'args') with ordinality a(tree, n)))
      else jsonb_build_object('op', 'call', 'name', 'in', 'args', jsonb_build_array(p_left, v_step.tree)) end;
  end if;
  return v_step;
end
$$;

-- Reads one operand: a literal, a name and what hangs on it, an expression in brackets, or not, empty, minus and what follows them.
-- Returns:  expression_step.
create or replace function bpm_core.parse_operand(p_tokens bpm_core.expression_token[], p_from integer, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token bpm_core.expression_token := p_tokens[p_from];
  v_inner bpm_core.expression_step;
begin
  if p_feel and v_token.kind = 'name' and v_token.value = 'empty' and (p_tokens[p_from + 1]).kind in ('name', '(', 'string', 'null') then
    v_token.kind := 'empty';
  end if;
  if v_token.kind in ('not', 'empty', '-', '[', '{') and p_depth > 100 then
    return row(null, p_from, 'nested too deeply', v_token.at)::bpm_core.expression_step;
  elsif v_token.kind in ('not', 'empty') or (v_token.kind = '-' and (p_tokens[p_from + 1]).kind <> 'number') then
    v_inner := bpm_core.parse_operand(p_tokens, p_from + 1, p_feel, p_depth + 1);
    if v_inner.problem is null then
      v_inner.problem := case
        when v_token.kind = 'not' then bpm_core.condition_problem(v_inner.tree)
        when v_token.kind = '-' then bpm_core.operator_problem('-', v_inner.tree, '{"op": "value", "value": 0}', p_feel)
        when bpm_core.is_condition(v_inner.tree) then 'empty asks about a value, not about a condition' end;
      v_inner.at := case when v_inner.problem is not null then v_token.at end;
      v_inner.tree := case v_token.kind when '-' then jsonb_build_object('op', 'call', 'name', 'negate', 'args', jsonb_build_array(v_inner.tree))
                                        else jsonb_build_object('op', v_token.kind, 'arg', v_inner.tree) end;
    end if;
    return v_inner;
  elsif v_token.kind = 'name' then
    v_inner := bpm_core.parse_name(p_tokens, p_from, p_feel, p_depth);
  elsif v_token.kind = '(' then
    v_inner := bpm_core.parse_expression(p_tokens, p_from + 1, 0, p_feel, p_depth + 1);
    if v_inner.problem is null and (p_tokens[v_inner.next]).kind <> ')' then
      v_inner.problem := 'a closing bracket is missing';
      v_inner.at := (p_tokens[v_inner.next]).at;
    end if;
    v_inner.next := v_inner.next + 1;
  else
    v_inner := bpm_core.parse_literal(p_tokens, p_from, p_feel, p_depth);
  end if;
  if v_inner.problem is null and (p_tokens[v_inner.next]).kind in ('.', '[') and jsonb_typeof(v_inner.tree -> 'value') is distinct from 'number' then
    return bpm_core.parse_suffixes(p_tokens, v_inner, p_feel, p_depth);
  end if;
  return v_inner;
end
$$;

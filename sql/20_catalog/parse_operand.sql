-- Reads one operand: a literal, a path, an expression in brackets, or not, empty, minus and what follows them.
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
  if v_token.kind = 'name' then
    return bpm_core.parse_path(p_tokens, p_from, p_feel);
  elsif v_token.kind = 'string' then
    return row(jsonb_build_object('op', 'value', 'value', v_token.value), p_from + 1, null, null)::bpm_core.expression_step;
  elsif v_token.kind = 'number' then
    return row(jsonb_build_object('op', 'value', 'value', v_token.value::numeric), p_from + 1, null, null)::bpm_core.expression_step;
  elsif v_token.kind in ('true', 'false', 'null') then
    return row(jsonb_build_object('op', 'value', 'value', v_token.kind::jsonb), p_from + 1, null, null)::bpm_core.expression_step;
  elsif v_token.kind = '-' and (p_tokens[p_from + 1]).kind = 'number' then
    return row(jsonb_build_object('op', 'value', 'value', -((p_tokens[p_from + 1]).value::numeric)), p_from + 2, null, null)::bpm_core.expression_step;
  elsif v_token.kind = '(' then
    v_inner := bpm_core.parse_expression(p_tokens, p_from + 1, 0, p_feel, p_depth + 1);
    if v_inner.problem is null and (p_tokens[v_inner.next]).kind <> ')' then
      v_inner.problem := 'a closing bracket is missing';
      v_inner.at := (p_tokens[v_inner.next]).at;
    end if;
    v_inner.next := v_inner.next + 1;
    return v_inner;
  elsif v_token.kind in ('not', 'empty') then
    if p_depth > 100 then
      return row(null, p_from, 'nested too deeply', v_token.at)::bpm_core.expression_step;
    end if;
    v_inner := bpm_core.parse_operand(p_tokens, p_from + 1, p_feel, p_depth + 1);
    if v_inner.problem is null then
      v_inner.problem := case
        when v_token.kind = 'not' then bpm_core.condition_problem(v_inner.tree)
        when v_inner.tree ->> 'op' not in ('path', 'value') then 'empty asks about a value, not about a condition' end;
      v_inner.at := case when v_inner.problem is not null then v_token.at end;
      v_inner.tree := jsonb_build_object('op', v_token.kind, 'arg', v_inner.tree);
    end if;
    return v_inner;
  end if;
  return row(null, p_from,
    case v_token.kind when 'end' then 'it ends where a value should stand' else format('%s is not understood here', left(v_token.value, 40)) end,
    v_token.at)::bpm_core.expression_step;
end
$$;

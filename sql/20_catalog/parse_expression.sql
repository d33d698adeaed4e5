-- Reads an expression by precedence climbing: or 1, and 2, equality 3, ordering 4 (also FEEL's in and between), + and - 5, * and / 6,
-- FEEL's ** 7; p_floor is the precedence that ends it. The choice by ? and : binds least.
-- Comparisons do not chain, and compare values, not conditions. The depth is limited, or brackets alone could exhaust the stack.
-- Returns:  expression_step.
create or replace function bpm_core.parse_expression(p_tokens bpm_core.expression_token[], p_from integer, p_floor integer, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_left  bpm_core.expression_step;
  v_right bpm_core.expression_step;
  v_token bpm_core.expression_token;
  v_power integer;
begin
  if p_depth > 100 then
    return row(null, p_from, 'nested too deeply', (p_tokens[p_from]).at)::bpm_core.expression_step;
  end if;
  v_left := bpm_core.parse_operand(p_tokens, p_from, p_feel, p_depth);
  loop
    exit when v_left.problem is not null;
    v_token := p_tokens[v_left.next];
    if v_token.kind = '?' and p_floor = 0 then
      return bpm_core.parse_choice(p_tokens, v_left, '?', ':', p_feel, p_depth);
    elsif p_feel and v_token.kind = 'name' and v_token.value in ('in', 'between') and p_floor < 4 then
      v_left := bpm_core.parse_test(p_tokens, v_left, p_depth);
      continue;
    end if;
    v_power := case v_token.kind when 'or' then 1 when 'and' then 2 when 'eq' then 3 when 'ne' then 3
                                 when 'lt' then 4 when 'le' then 4 when 'gt' then 4 when 'ge' then 4
                                 when '+' then 5 when '-' then 5 when '*' then 6 when '/' then 6 when '%' then 6 when '**' then 7 end;
    exit when v_power is null or v_power <= p_floor;
    v_right := bpm_core.parse_expression(p_tokens, v_left.next + 1, v_power, p_feel, p_depth + 1);
    if v_right.problem is not null then
      return v_right;
    end if;
    v_left.problem := bpm_core.operator_problem(v_token.kind, v_left.tree, v_right.tree, p_feel);
    v_left.at := case when v_left.problem is not null then v_token.at end;
    v_left.next := v_right.next;
    v_left.tree := bpm_core.operator_tree(v_token.kind, v_left.tree, v_right.tree, p_feel);
  end loop;
  return v_left;
end
$$;

-- Reads FEEL's some x in list satisfies …, every x in list satisfies …, for x in list return …, behind their first word. Several
-- iterators stand in each other. The weight of the body, its number of nodes, is kept: evaluation divides what work is allowed by it.
-- Returns:  expression_step, the tree {op: some|every|for, var, list, body, weight}.
create or replace function bpm_core.parse_loop(p_tokens bpm_core.expression_token[], p_from integer, p_op text, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_next integer := bpm_core.name_end(p_tokens, p_from);
  v_var  text := (select string_agg((p_tokens[i]).value, ' ' order by i) from generate_series(p_from, v_next - 1) i);
  v_list bpm_core.expression_step;
  v_body bpm_core.expression_step;
  v_word text := case p_op when 'for' then 'return' else 'satisfies' end;
begin
  if p_depth > 100 then
    return row(null, p_from, 'nested too deeply', (p_tokens[p_from]).at)::bpm_core.expression_step;
  elsif v_next = p_from or (p_tokens[v_next]).value is distinct from 'in' then
    return row(null, v_next, 'in is missing', (p_tokens[v_next]).at)::bpm_core.expression_step;
  end if;
  v_list := bpm_core.parse_expression(p_tokens, v_next + 1, 0, true, p_depth + 1);
  if v_list.problem is null and (p_tokens[v_list.next]).kind = '..' then
    v_body := bpm_core.parse_expression(p_tokens, v_list.next + 1, 0, true, p_depth + 1);
    v_body.tree := jsonb_build_object('op', 'call', 'name', 'range', 'args', jsonb_build_array(v_list.tree, v_body.tree));
    v_list := v_body;
  end if;
  if v_list.problem is not null then
    return v_list;
  elsif (p_tokens[v_list.next]).kind = ',' then
    v_body := bpm_core.parse_loop(p_tokens, v_list.next + 1, p_op, p_depth + 1);
  elsif (p_tokens[v_list.next]).value is distinct from v_word then
    return row(null, v_list.next, format('%s is missing', v_word), (p_tokens[v_list.next]).at)::bpm_core.expression_step;
  else
    v_body := bpm_core.parse_expression(p_tokens, v_list.next + 1, 0, true, p_depth + 1);
    if v_body.problem is null and p_op <> 'for' then
      v_body.problem := bpm_core.condition_problem(v_body.tree);
      v_body.at := (p_tokens[v_list.next]).at;
    end if;
  end if;
  if v_body.problem is null then
    v_body.tree := jsonb_build_object('op', p_op, 'var', v_var, 'list', v_list.tree, 'body', v_body.tree, 'weight', bpm_core.tree_weight(v_body.tree));
  end if;
  return v_body;
end
$$;

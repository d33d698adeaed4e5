-- Reads what hangs on a value: .name, .method(…) in JUEL, [index], in FEEL also a filter, [condition]. JUEL counts from 0, FEEL from 1.
-- Returns:  expression_step.
create or replace function bpm_core.parse_suffixes(p_tokens bpm_core.expression_token[], p_step bpm_core.expression_step, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step  bpm_core.expression_step := p_step;
  v_inner bpm_core.expression_step;
  v_name  text;
  v_next  integer;
begin
  while v_step.problem is null and (p_tokens[v_step.next]).kind in ('.', '[') loop
    if (p_tokens[v_step.next]).kind = '.' then
      v_next := v_step.next + 2;
      v_name := (p_tokens[v_step.next + 1]).value;
      if v_name !~ '^([A-Za-z_$]|[^\u0001-\u007f])' then
        return row(null, v_step.next, 'a name is missing after the dot', (p_tokens[v_step.next]).at)::bpm_core.expression_step;
      elsif p_feel and (p_tokens[v_next]).kind = 'name' then
        v_next := bpm_core.name_end(p_tokens, v_step.next + 1);
        v_name := (select string_agg((p_tokens[i]).value, ' ' order by i) from generate_series(v_step.next + 1, v_next - 1) i);
      end if;
      if (p_tokens[v_next]).kind = '(' then
        v_step := bpm_core.parse_call(p_tokens, v_next, v_name, v_step.tree, p_feel, p_depth);
      else
        v_step.tree := bpm_core.member_tree(v_step.tree, v_name);
        v_step.next := v_next;
      end if;
    else
      v_inner := bpm_core.parse_expression(p_tokens, v_step.next + 1, 0, p_feel, p_depth + 1);
      if v_inner.problem is null and (p_tokens[v_inner.next]).kind <> ']' then
        v_inner.problem := 'a closing bracket is missing';
        v_inner.at := (p_tokens[v_inner.next]).at;
      end if;
      if v_inner.problem is not null then
        return v_inner;
      end if;
      v_step.tree := case
        when not p_feel and jsonb_typeof(v_inner.tree -> 'value') = 'string' then bpm_core.member_tree(v_step.tree, v_inner.tree ->> 'value')
        when p_feel and bpm_core.is_condition(v_inner.tree)
          then jsonb_build_object('op', 'filter', 'list', v_step.tree, 'body', v_inner.tree, 'weight', bpm_core.tree_weight(v_inner.tree))
        else jsonb_build_object('op', 'index', 'arg', v_step.tree, 'index', v_inner.tree, 'first', p_feel::integer) end;
      v_step.next := v_inner.next + 1;
    end if;
  end loop;
  return v_step;
end
$$;

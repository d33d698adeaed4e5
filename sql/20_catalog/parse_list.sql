-- Reads a FEEL list, [a, b], or context, {key: a, "other key": b}.
-- Returns:  expression_step, the tree {op: list, args} or {op: context, keys, args}.
create or replace function bpm_core.parse_list(p_tokens bpm_core.expression_token[], p_from integer, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_close constant text := case (p_tokens[p_from]).kind when '[' then ']' else '}' end;
  v_keys  jsonb := '[]'::jsonb;
  v_args  jsonb := '[]'::jsonb;
  v_next  integer := p_from + 1;
  v_key   text;
  v_step  bpm_core.expression_step;
begin
  while (p_tokens[v_next]).kind <> v_close loop
    if v_close = '}' then
      v_key := (p_tokens[v_next]).value;
      while (p_tokens[v_next]).kind = 'name' and (p_tokens[v_next + 1]).kind = 'name' loop
        v_next := v_next + 1;
        v_key := v_key || ' ' || (p_tokens[v_next]).value;
      end loop;
      if (p_tokens[v_next]).kind not in ('name', 'string') or (p_tokens[v_next + 1]).kind <> ':' then
        return row(null, v_next, 'a key and a colon should stand here', (p_tokens[v_next]).at)::bpm_core.expression_step;
      end if;
      v_keys := v_keys || to_jsonb(v_key);
      v_next := v_next + 2;
    end if;
    v_step := bpm_core.parse_expression(p_tokens, v_next, 0, true, p_depth + 1);
    if v_step.problem is not null then
      return v_step;
    end if;
    v_args := v_args || jsonb_build_array(v_step.tree);
    v_next := v_step.next;
    exit when (p_tokens[v_next]).kind <> ',';
    v_next := v_next + 1;
  end loop;
  if (p_tokens[v_next]).kind <> v_close then
    return row(null, v_next, 'a closing bracket is missing', (p_tokens[v_next]).at)::bpm_core.expression_step;
  end if;
  return row(case v_close when ']' then jsonb_build_object('op', 'list', 'args', v_args)
                          else jsonb_build_object('op', 'context', 'keys', v_keys, 'args', v_args) end, v_next + 1, null, null)::bpm_core.expression_step;
end
$$;

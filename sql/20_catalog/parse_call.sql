-- Reads the arguments of a call whose name was read, p_from at the opening bracket; p_target is what a method of JUEL hangs on.
-- Returns:  expression_step.
create or replace function bpm_core.parse_call(
  p_tokens bpm_core.expression_token[], p_from integer, p_name text, p_target jsonb, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_args jsonb := case when p_target is null then '[]' else jsonb_build_array(p_target) end;
  v_next integer := p_from + 1;
  v_step bpm_core.expression_step;
  v_call record;
begin
  select k.* into v_call from bpm_core.known_call(p_name, p_feel, p_target is not null) k;
  if v_call.name is null then
    return row(null, p_from, format('the call of %s is not understood', left(concat_ws('.', (select string_agg(n, '.') from jsonb_array_elements_text(p_target -> 'path') n), p_name), 80)),
               (p_tokens[p_from]).at)::bpm_core.expression_step;
  end if;
  while (p_tokens[v_next]).kind <> ')' loop
    v_step := bpm_core.parse_expression(p_tokens, v_next, 0, p_feel, p_depth + 1);
    if v_step.problem is not null then
      return v_step;
    end if;
    v_args := v_args || jsonb_build_array(v_step.tree);
    v_next := v_step.next;
    exit when (p_tokens[v_next]).kind <> ',';
    v_next := v_next + 1;
  end loop;
  if (p_tokens[v_next]).kind <> ')' then
    return row(null, v_next, 'a closing bracket is missing', (p_tokens[v_next]).at)::bpm_core.expression_step;
  elsif jsonb_array_length(v_args) not between v_call.fewest and v_call.most then
    return row(null, p_from, format('%s is called with a wrong number of arguments', p_name), (p_tokens[p_from]).at)::bpm_core.expression_step;
  end if;
  select c.tree, v_next + 1, c.problem, (p_tokens[p_from]).at into v_step from bpm_core.call_tree(v_call.name, v_args) c;
  return v_step;
end
$$;

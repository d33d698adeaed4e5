-- Reads what begins with a name: FEEL's if, some, every and for, a call, or a dotted path. In FEEL a name may have spaces, until a word
-- that means something.
-- Returns:  expression_step.
create or replace function bpm_core.parse_name(p_tokens bpm_core.expression_token[], p_from integer, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := (p_tokens[p_from]).value;
  v_next integer := p_from + 1;
begin
  if p_feel then
    if v_name = 'if' and (p_tokens[v_next]).kind in ('name', 'string', 'number', 'true', 'false', 'null', 'not', '(', '[', '-', '@') then
      return bpm_core.parse_choice(p_tokens, bpm_core.parse_expression(p_tokens, v_next, 0, true, p_depth + 1), 'then', 'else', true, p_depth);
    elsif v_name in ('some', 'every', 'for') and bpm_core.name_end(p_tokens, v_next) > v_next
          and (p_tokens[bpm_core.name_end(p_tokens, v_next)]).value = 'in' then
      return bpm_core.parse_loop(p_tokens, v_next, v_name, p_depth);
    elsif v_name in ('date', 'get') and (p_tokens[v_next + 2]).kind = '(' then
      -- The only names with an operator in them.
      v_name := concat_ws(' ', v_name, (p_tokens[v_next]).value, (p_tokens[v_next + 1]).value);
      if v_name in ('date and time', 'get or else') then
        return bpm_core.parse_call(p_tokens, v_next + 2, v_name, null, true, p_depth);
      end if;
    end if;
    v_next := bpm_core.name_end(p_tokens, p_from);
    v_name := (select string_agg((p_tokens[i]).value, ' ' order by i) from generate_series(p_from, v_next - 1) i);
  end if;
  if (p_tokens[v_next]).kind = '(' then
    return bpm_core.parse_call(p_tokens, v_next, v_name, null, p_feel, p_depth);
  elsif p_feel and ((p_tokens[v_next - 1]).value, (p_tokens[v_next]).value) in (('instance', 'of'), ('is', 'defined')) then
    return row(null, v_next, format('%s %s is not understood', (p_tokens[v_next - 1]).value, (p_tokens[v_next]).value), (p_tokens[v_next - 1]).at)::bpm_core.expression_step;
  elsif not p_feel and v_name = 'execution' and (p_tokens[v_next]).kind = '.'
        and (p_tokens[v_next + 1]).value in ('id', 'businessKey', 'processBusinessKey', 'processInstanceId', 'processDefinitionId', 'parentId', 'tenantId', 'eventName',
                                             'currentActivityId', 'currentActivityName', 'currentTransitionId', 'activityInstanceId', 'processInstance', 'superExecution') then
    -- No variable of ours: read as a path it would be missing, and so null, without a sound.
    return row(null, v_next, format('execution.%s is not understood', (p_tokens[v_next + 1]).value), (p_tokens[v_next - 1]).at)::bpm_core.expression_step;
  elsif not p_feel and v_name = 'execution' and (p_tokens[v_next]).kind = '.' and (p_tokens[v_next + 1]).value in ('getVariable', 'hasVariable', 'getVariableLocal')
        and (p_tokens[v_next + 2]).kind = '(' and (p_tokens[v_next + 3]).kind = 'string' and (p_tokens[v_next + 4]).kind = ')' then
    return row(case (p_tokens[v_next + 1]).value
                 when 'hasVariable' then jsonb_build_object('op', 'defined', 'arg', jsonb_build_object('op', 'path', 'path', jsonb_build_array((p_tokens[v_next + 3]).value)))
                 else jsonb_build_object('op', 'path', 'path', jsonb_build_array((p_tokens[v_next + 3]).value)) end, v_next + 5, null, null)::bpm_core.expression_step;
  end if;
  return row(jsonb_build_object('op', 'path', 'path', jsonb_build_array(v_name)), v_next, null, null)::bpm_core.expression_step;
end
$$;

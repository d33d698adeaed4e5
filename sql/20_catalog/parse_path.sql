-- Reads a dotted path; in FEEL a name may have spaces. execution.getVariable('x') is the path x.
-- A word of FEEL we do not understand is no part of a name: "x in y" read as one name would be missing, and so false, without a sound.
-- Returns:  expression_step.
create or replace function bpm_core.parse_path(p_tokens bpm_core.expression_token[], p_from integer, p_feel boolean)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_path text[] := array[(p_tokens[p_from]).value];
  v_next integer := p_from + 1;
  v_word text;
begin
  loop
    if p_feel and (p_tokens[v_next]).kind = 'name' then
      v_word := case
        when v_next = p_from + 1 and v_path[1] in ('if', 'for', 'some', 'every', 'function') then v_path[1]
        when (p_tokens[v_next]).value in ('in', 'between') then (p_tokens[v_next]).value
        when ((p_tokens[v_next]).value, (p_tokens[v_next + 1]).value) in (('instance', 'of'), ('is', 'defined'))
          then (p_tokens[v_next]).value || ' ' || (p_tokens[v_next + 1]).value end;
      if v_word is not null then
        return row(null, v_next, format('%s is not understood', v_word),
                   (p_tokens[case when v_word = v_path[1] then p_from else v_next end]).at)::bpm_core.expression_step;
      end if;
    end if;
    if p_feel and (p_tokens[v_next]).kind = 'name' then
      v_path[cardinality(v_path)] := v_path[cardinality(v_path)] || ' ' || (p_tokens[v_next]).value;
      v_next := v_next + 1;
    elsif (p_tokens[v_next]).kind = '.' and (p_tokens[v_next + 1]).value ~ '^([A-Za-z_$]|[^\u0001-\u007f])' then
      v_path := v_path || (p_tokens[v_next + 1]).value;
      v_next := v_next + 2;
    else
      exit;
    end if;
  end loop;
  if not p_feel and v_path = array['execution', 'getVariable'] and (p_tokens[v_next]).kind = '('
     and (p_tokens[v_next + 1]).kind = 'string' and (p_tokens[v_next + 2]).kind = ')' then
    v_path := array[(p_tokens[v_next + 1]).value];
    v_next := v_next + 3;
  end if;
  if (p_tokens[v_next]).kind in ('(', '[', '.') then
    return row(null, v_next,
      case (p_tokens[v_next]).kind when '(' then format('the call of %s is not understood', left(array_to_string(v_path, '.'), 80))
                                   when '[' then 'an index is not understood' else 'a name is missing after the dot' end,
      (p_tokens[v_next]).at)::bpm_core.expression_step;
  end if;
  return row(jsonb_build_object('op', 'path', 'path', v_path), v_next, null, null)::bpm_core.expression_step;
end
$$;

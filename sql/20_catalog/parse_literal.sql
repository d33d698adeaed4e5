-- Reads a literal: a text, a number, true, false, null; in FEEL also a list, a context and a time (@"2030-01-31").
-- Returns:  expression_step.
create or replace function bpm_core.parse_literal(p_tokens bpm_core.expression_token[], p_from integer, p_feel boolean, p_depth integer)
returns bpm_core.expression_step
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token bpm_core.expression_token := p_tokens[p_from];
  v_value jsonb;
  v_next  integer := p_from + 1;
begin
  if v_token.kind = 'string' then
    v_value := to_jsonb(v_token.value);
  elsif v_token.kind = 'number' then
    v_value := to_jsonb(v_token.value::numeric);
  elsif v_token.kind = '-' and (p_tokens[v_next]).kind = 'number' then
    v_value := to_jsonb(-((p_tokens[v_next]).value::numeric));
    v_next := v_next + 1;
  elsif v_token.kind in ('true', 'false', 'null') then
    v_value := v_token.kind::jsonb;
  elsif v_token.kind in ('[', '{') and p_feel then
    return bpm_core.parse_list(p_tokens, p_from, p_depth);
  elsif v_token.kind = '@' and (p_tokens[v_next]).kind = 'string' then
    v_value := bpm_core.time_value((p_tokens[v_next]).value, null);
    if v_value is null then
      return row(null, p_from, format('%s is no date, time or duration', left((p_tokens[v_next]).value, 40)), v_token.at)::bpm_core.expression_step;
    end if;
    return row(jsonb_build_object('op', 'call', 'name', 'literal time', 'args', jsonb_build_array(jsonb_build_object('op', 'value', 'value', v_value))),
               v_next + 1, null, null)::bpm_core.expression_step;
  else
    return row(null, p_from,
      case v_token.kind when 'end' then 'it ends where a value should stand' else format('%s is not understood here', left(v_token.value, 40)) end,
      v_token.at)::bpm_core.expression_step;
  end if;
  return row(jsonb_build_object('op', 'value', 'value', v_value), v_next, null, null)::bpm_core.expression_step;
end
$$;

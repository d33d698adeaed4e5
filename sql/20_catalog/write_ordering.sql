-- jsonpath of an ordering. Numbers are ordered with numbers and texts with texts; anything else is undecidable, and so is an encrypted
-- text. jsonpath itself answers false for null, so beside a number the path gets a plus sign, which fails on everything that is no
-- number; elsewhere the types are asked for first, and (1 == "1") says unknown.
create or replace function bpm_core.write_ordering(p_operator text, p_left jsonb, p_right jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_number constant text := '@.type() == "number"';
  v_string constant text := '@.type() == "string" && !(@ starts with "__encrypted:")';
  v_left   text := case p_left ->> 'op' when 'path' then bpm_core.write_path('$', p_left -> 'path') else (p_left -> 'value')::text end;
  v_right  text := case p_right ->> 'op' when 'path' then bpm_core.write_path('$', p_right -> 'path') else (p_right -> 'value')::text end;
  v_guard  text;
begin
  if p_left ->> 'op' = 'value' and p_right ->> 'op' = 'value' then
    return format('(%s %s %s)', v_left, p_operator, v_right);
  elsif jsonb_typeof(p_left -> 'value') = 'number' then
    return format('(%s %s +%s)', v_left, p_operator, v_right);
  elsif jsonb_typeof(p_right -> 'value') = 'number' then
    return format('(+%s %s %s)', v_left, p_operator, v_right);
  elsif p_left ->> 'op' = 'value' or p_right ->> 'op' = 'value' then
    v_guard := bpm_core.write_typed(coalesce(p_left -> 'path', p_right -> 'path'), v_string);
  else
    v_guard := format('((%s && %s) || (%s && %s))',
      bpm_core.write_typed(p_left -> 'path', v_number), bpm_core.write_typed(p_right -> 'path', v_number),
      bpm_core.write_typed(p_left -> 'path', v_string), bpm_core.write_typed(p_right -> 'path', v_string));
  end if;
  return format('((%1$s && %2$s %3$s %4$s) || (!%1$s && 1 == "1"))', v_guard, v_left, p_operator, v_right);
end
$$;

-- jsonpath of left == right. A missing value equals null and differs from everything else; values of different types are undecidable,
-- because a comparison of "5" with 5 is an error in the data and not an answer.
create or replace function bpm_core.write_equality(p_left jsonb, p_right jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_a jsonb := case when p_left ->> 'op' = 'path' then p_left else p_right end;
  v_b jsonb := case when p_left ->> 'op' = 'path' then p_right else p_left end;
  v_x text;
  v_y text;
begin
  if v_a ->> 'op' = 'value' then
    return format('(%s == %s)', v_a -> 'value', v_b -> 'value');
  elsif v_b -> 'value' = 'null' then
    return '!' || bpm_core.write_typed(v_a -> 'path', '@ != null');
  elsif v_b ->> 'op' = 'value' then
    return format('(%s && %s == %s)', bpm_core.write_typed(v_a -> 'path', ''), bpm_core.write_path('$', v_a -> 'path'), v_b -> 'value');
  end if;
  v_x := bpm_core.write_typed(v_a -> 'path', '@.type() != "null"');
  v_y := bpm_core.write_typed(v_b -> 'path', '@.type() != "null"');
  return format('((!%s && !%s) || (%1$s && %2$s && %s == %s))', v_x, v_y, bpm_core.write_path('$', v_a -> 'path'), bpm_core.write_path('$', v_b -> 'path'));
end
$$;

-- jsonpath of left == right. A missing value equals null and differs from everything else. Values of different types are undecidable,
-- because a comparison of "5" with 5 is an error in the data and not an answer; so is an encrypted text beside anything but null.
create or replace function bpm_core.write_equality(p_left jsonb, p_right jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_secret constant text := '@ starts with "__encrypted:"';
  v_a      jsonb := case when p_left ->> 'op' = 'path' then p_left else p_right end;
  v_b      jsonb := case when p_left ->> 'op' = 'path' then p_right else p_left end;
  v_same   text;
  v_x      text;
  v_y      text;
begin
  if v_a ->> 'op' = 'value' then
    return format('(%s == %s)', v_a -> 'value', v_b -> 'value');
  elsif v_b -> 'value' = 'null' then
    return '!' || bpm_core.write_typed(v_a -> 'path', '@ != null');
  elsif v_b ->> 'op' = 'value' then
    v_same := format('%s && %s == %s', bpm_core.write_typed(v_a -> 'path', ''), bpm_core.write_path('$', v_a -> 'path'), v_b -> 'value');
    if jsonb_typeof(v_b -> 'value') = 'string' then
      v_same := format('(%s) || (%s && 1 == "1")', v_same, bpm_core.write_typed(v_a -> 'path', v_secret));
    end if;
    return '(' || v_same || ')';
  end if;
  v_x := bpm_core.write_typed(v_a -> 'path', '@ != null');
  v_y := bpm_core.write_typed(v_b -> 'path', '@ != null');
  return format('((!%1$s && !%2$s) || (%1$s && %2$s && !(%5$s || %6$s) && %3$s == %4$s) || (%1$s && %2$s && (%5$s || %6$s) && 1 == "1"))', v_x, v_y,
    bpm_core.write_path('$', v_a -> 'path'), bpm_core.write_path('$', v_b -> 'path'),
    bpm_core.write_typed(v_a -> 'path', v_secret), bpm_core.write_typed(v_b -> 'path', v_secret));
end
$$;

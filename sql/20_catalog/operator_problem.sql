-- Whether an operator can stand between two trees: and/or between conditions, comparisons between values, ordering not beside
-- true, false or null, which have no order.
-- Returns:  text, null when it can.
create or replace function bpm_core.operator_problem(p_operator text, p_left jsonb, p_right jsonb)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_operator in ('and', 'or') then coalesce(bpm_core.condition_problem(p_left), bpm_core.condition_problem(p_right))
    when p_left ->> 'op' not in ('path', 'value') or p_right ->> 'op' not in ('path', 'value') then 'a comparison stands between two values, not between conditions'
    when p_operator in ('lt', 'le', 'gt', 'ge') and (jsonb_typeof(p_left -> 'value') in ('boolean', 'null') or jsonb_typeof(p_right -> 'value') in ('boolean', 'null'))
      then 'true, false and null have no order'
    when p_left ->> 'op' = 'value' and p_right ->> 'op' = 'value' and jsonb_typeof(p_left -> 'value') <> jsonb_typeof(p_right -> 'value')
         and 'null' not in (jsonb_typeof(p_left -> 'value'), jsonb_typeof(p_right -> 'value')) then 'values of different types cannot be compared'
  end
$$;

-- Whether an operator can stand between two trees: and/or between conditions, comparisons and arithmetic between values, ordering not beside
-- true, false or null, which have no order.
-- Returns:  text, null when it can.
create or replace function bpm_core.operator_problem(p_operator text, p_left jsonb, p_right jsonb, p_feel boolean)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_operator in ('and', 'or') then coalesce(bpm_core.condition_problem(p_left), bpm_core.condition_problem(p_right))
    -- What most are needs no closer look.
    when p_left ->> 'op' = 'path' and (p_right ->> 'op' = 'path' or jsonb_typeof(p_right -> 'value') = 'number') then null
    when p_operator in ('eq', 'ne') and bpm_core.is_condition(p_left) and jsonb_typeof(p_right -> 'value') = 'boolean' then null
    when p_operator in ('eq', 'ne', 'lt', 'le', 'gt', 'ge') and (bpm_core.is_condition(p_left) or bpm_core.is_condition(p_right))
      then 'a comparison stands between two values, not between conditions'
    when bpm_core.is_condition(p_left) or bpm_core.is_condition(p_right) then format('%s stands between two values, not between conditions', p_operator)
    when p_operator in ('lt', 'le', 'gt', 'ge') and (jsonb_typeof(p_left -> 'value') in ('boolean', 'null') or jsonb_typeof(p_right -> 'value') in ('boolean', 'null'))
      then 'true, false and null have no order'
    when p_operator in ('eq', 'ne', 'lt', 'le', 'gt', 'ge') then case
      when p_left ->> 'op' = 'value' and p_right ->> 'op' = 'value' and jsonb_typeof(p_left -> 'value') <> jsonb_typeof(p_right -> 'value')
           and 'null' not in (jsonb_typeof(p_left -> 'value'), jsonb_typeof(p_right -> 'value')) then 'values of different types cannot be compared' end
    when jsonb_typeof(p_left -> 'value') in ('boolean', 'null') or jsonb_typeof(p_right -> 'value') in ('boolean', 'null')
      then format('%s does not calculate with true, false or null', p_operator)
    when (jsonb_typeof(p_left -> 'value') = 'string' or jsonb_typeof(p_right -> 'value') = 'string') and not (p_feel and p_operator = '+')
      then format('%s does not calculate with a text', p_operator)
  end
$$;

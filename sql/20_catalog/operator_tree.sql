-- The tree of an operator between two trees. Chains of and, of or, stay flat; a condition beside true or false is itself, or its opposite.
create or replace function bpm_core.operator_tree(p_operator text, p_left jsonb, p_right jsonb, p_feel boolean)
returns jsonb
language sql immutable parallel safe
as $$
  select case
    when p_operator in ('and', 'or') and p_left ->> 'op' = p_operator then jsonb_set(p_left, '{args}', (p_left -> 'args') || jsonb_build_array(p_right))
    when p_operator in ('and', 'or') then jsonb_build_object('op', p_operator, 'args', jsonb_build_array(p_left, p_right))
    when p_operator in ('eq', 'ne') and jsonb_typeof(p_right -> 'value') = 'boolean' and bpm_core.is_condition(p_left) then
      case when (p_operator = 'eq') = (p_right -> 'value')::boolean then p_left else jsonb_build_object('op', 'not', 'arg', p_left) end
    when p_operator in ('eq', 'ne', 'lt', 'le', 'gt', 'ge') then jsonb_build_object('op', p_operator, 'left', p_left, 'right', p_right)
    else jsonb_build_object('op', 'call', 'args', jsonb_build_array(p_left, p_right), 'name',
                            case p_operator when '+' then case when p_feel then 'plus' else 'add' end when '-' then 'subtract' when '*' then 'multiply'
                                            when '/' then 'divide' when '%' then 'remainder' else 'power' end) end
$$;

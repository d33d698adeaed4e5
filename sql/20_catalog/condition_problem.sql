-- Whether a tree can be asked for true or false.
-- Returns:  text, null when it can.
create or replace function bpm_core.condition_problem(p_tree jsonb)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_tree ->> 'op' = 'value' and jsonb_typeof(p_tree -> 'value') <> 'boolean' then (p_tree -> 'value')::text || ' is neither true nor false'
    when p_tree ->> 'op' in ('list', 'context', 'for', 'filter') then 'a list is neither true nor false'
    when p_tree ->> 'name' in ('plus', 'add', 'subtract', 'multiply', 'divide', 'remainder', 'power', 'negate', 'count', 'sum', 'now', 'today', 'template')
         and p_tree ->> 'op' = 'call' then 'the result of a calculation is neither true nor false' end
$$;

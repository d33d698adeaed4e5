-- Whether a tree can be asked for true or false.
-- Returns:  text, null when it can.
create or replace function bpm_core.condition_problem(p_tree jsonb)
returns text
language sql immutable parallel safe
as $$
  select case when p_tree ->> 'op' = 'value' and jsonb_typeof(p_tree -> 'value') <> 'boolean'
    then (p_tree -> 'value')::text || ' is neither true nor false' end
$$;

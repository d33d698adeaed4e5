-- The level of a priority: high, normal and low, or a number, of which p_middle is normal and more is high.
-- Returns:  0 high, 1 normal, 2 low; null when it is none.
create or replace function bpm_core.priority_level(p_value jsonb, p_middle integer)
returns smallint
language sql immutable parallel safe
as $$
  select (case lower(p_value #>> '{}') when 'high' then 0 when 'normal' then 1 when 'low' then 2
          else case when p_value #>> '{}' ~ '^-?\d{1,9}$' then 1 - sign((p_value #>> '{}')::integer - p_middle) end end)::smallint
$$;

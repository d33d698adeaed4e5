-- How many items there are, from what the expressions of a multi-instance or loop gave (loop_value).
-- Returns:  integer, 0 to pass; 2147483647 of a loop without a maximum; null when it cannot be said.
create or replace function bpm_core.loop_total(p_spec jsonb, p_value jsonb)
returns integer
language sql immutable
as $$
  select case
    when p_spec ? 'collection' then case jsonb_typeof(p_value) when 'array' then jsonb_array_length(p_value) end
    when p_spec ? 'cardinality' then case
      when jsonb_typeof(p_value) <> 'number' then null
      when p_value::numeric between 0 and 2147483646 and p_value::numeric = trunc(p_value::numeric) then p_value::integer end
    when p_spec ? 'before' and p_value is distinct from 'true' then case when p_value = 'false' then 0 end
    else coalesce((p_spec ->> 'maximum')::integer, 2147483647)
  end
$$;

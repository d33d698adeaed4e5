-- The number in a picker's position that goes by numbers (position_of).
-- Returns:  bigint; 0 for none.
create or replace function bpm_core.number_at(p_at timestamptz)
returns bigint
language sql stable
as $$
  select case when isfinite(p_at) then extract(epoch from p_at)::bigint else 0 end
$$;

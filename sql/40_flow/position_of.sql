-- A number as the time in a picker's position, for pickers that go by numbers: so many seconds after 1970. number_at is the way back.
-- Returns:  timestamptz.
create or replace function bpm_core.position_of(p_number bigint)
returns timestamptz
language sql immutable
as $$
  select to_timestamp(p_number::double precision)
$$;

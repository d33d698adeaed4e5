-- A fresh identifier: uuid version 7, so that keys arrive in the order of time and indexes grow at their right edge.
-- Returns:  uuid; the first 48 bits are milliseconds of the clock.
create or replace function bpm_core.new_id()
returns uuid
language sql volatile parallel safe
as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

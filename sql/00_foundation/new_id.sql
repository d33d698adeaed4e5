-- A fresh identifier: uuid version 7, so that keys arrive in the order of time and indexes grow at their right edge. What is drawn one after the other
-- sorts so, if a microsecond lies between: the inbox is applied in this order.
-- Returns:  uuid; the first 48 bits are milliseconds of the clock, the 12 after the version their fraction (RFC 9562, 6.2, method 3).
create or replace function bpm_core.new_id()
returns uuid
language sql volatile parallel safe
as $$
  -- The clock is read once: milliseconds and their fraction are one number, twelve and four hexadecimal digits.
  select overlay(
    replace(gen_random_uuid()::text, '-', '')
    placing left(overlay(lpad(to_hex((extract(epoch from clock_timestamp()) * 65536000)::bigint), 16, '0') placing '7' from 13 for 0), 16)
    from 1 for 16)::uuid
$$;

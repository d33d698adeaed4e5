-- How long until a command is tried again: the destination's backoff, doubled with every attempt, capped, lengthened at random by up to a tenth
-- so that what failed together does not come back together.
-- Returns:  interval.
create or replace function bpm_core.command_delay(p_profile bpm_core.destination, p_attempt integer)
returns interval
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select least(p_profile.backoff_cap, p_profile.backoff * power(2, least(greatest(p_attempt, 1) - 1, 20))) * (1 + random() / 10)
$$;

-- How long until the next attempt: the backoff of the task version, growing by its factor, capped, lengthened at random by its jitter.
-- Returns:  interval.
create or replace function bpm_core.retry_delay(p_version bpm_core.task_version, p_attempt integer)
returns interval
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select least(p_version.backoff_cap, p_version.backoff * least(power(p_version.backoff_factor::float8, least(p_attempt - 1, 60)), 1e9))
         * (1 + p_version.jitter::float8 * random())
$$;

-- What is wrong with a destination's probe, its bounds and its breaker.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.limits_fault(
  p_probe_url text, p_absent_means text, p_max_concurrent integer, p_rate_limit integer, p_rate_period interval, p_breaker_threshold integer,
  p_breaker_delay interval)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when length(p_probe_url) > 2000 or p_probe_url !~* '^https?://[^/\s@?#{]+[/?][^\s#]*$' or p_probe_url !~ '\{command_id\}'
      then 'p_probe_url must be an http or https address with {command_id} behind the host, without user name, password and fragment.'
    when p_probe_url ~* '[?&;][^=&]*(token|secret|passw|api[_-]?key|signature)[^=&]*='
      then 'p_probe_url seems to carry a secret; let p_secret_ref name where the driver finds it.'
    when coalesce(p_absent_means not in ('Unknown', 'Pending'), true) then 'p_absent_means must be Unknown or Pending.'
    when p_max_concurrent not between 1 and 1000 then 'p_max_concurrent must be from 1 to 1000.'
    when p_rate_limit not between 1 and 1000 then 'p_rate_limit must be from 1 to 1000.'
    when coalesce(p_rate_period not between interval '10 milliseconds' and interval '1 day', true) then 'p_rate_period must be from 10 milliseconds to 1 day.'
    when p_breaker_threshold not between 1 and 1000 then 'p_breaker_threshold must be from 1 to 1000.'
    when coalesce(p_breaker_delay not between interval '1 second' and interval '1 day', true) then 'p_breaker_delay must be from 1 second to 1 day.'
  end
$$;

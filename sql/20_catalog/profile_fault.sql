-- What is wrong with the numbers of a receiver profile.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.profile_fault(
  p_key_retention interval, p_conflict_means text, p_max_attempts integer, p_backoff interval, p_backoff_cap interval, p_lease interval)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when coalesce(p_key_retention not between interval '0' and interval '10 years', true) then 'p_key_retention must be from 0 to 10 years.'
    when coalesce(p_conflict_means not in ('Failed', 'Sent', 'Pending'), true) then 'p_conflict_means must be Failed, Sent or Pending.'
    when coalesce(p_max_attempts not between 1 and 1000, true) then 'p_max_attempts must be from 1 to 1000.'
    when coalesce(p_backoff not between interval '0' and interval '1 day', true) then 'p_backoff must be from 0 to 1 day.'
    when coalesce(p_backoff_cap not between p_backoff and interval '30 days', true) then 'p_backoff_cap must be from p_backoff to 30 days.'
    when coalesce(p_lease not between interval '1 second' and interval '1 day', true) then 'p_lease must be from 1 second to 1 day.'
  end
$$;

-- The k-th point of a timer's grid (k = 0 is the anchor). Months and days are added in UTC, whatever the session's zone is.
create or replace function bpm_core.timer_at(p_anchor timestamptz, p_step interval, p_k bigint)
returns timestamptz
language sql immutable parallel safe
as $$ select (p_anchor at time zone 'UTC' + p_step * p_k) at time zone 'UTC' $$;

-- The k-th point of a timer's grid (k = 0 is the anchor). Months and days are added on the calendar of the zone, hours as they pass.
create or replace function bpm_core.timer_at(p_anchor timestamptz, p_step interval, p_k bigint, p_zone text default 'UTC')
returns timestamptz
language sql immutable
as $$
  select case
    when p_zone = 'UTC' then (p_anchor at time zone 'UTC' + p_step * p_k) at time zone 'UTC'
    else bpm_core.local_instant(p_anchor at time zone p_zone + date_trunc('day', p_step) * p_k, p_zone) + (p_step - date_trunc('day', p_step)) * p_k
  end
$$;

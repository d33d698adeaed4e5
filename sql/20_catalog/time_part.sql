-- A part of a time: year, month, day, hour, minute, second, weekday (1 Monday), of a point in time in UTC; of a duration years to seconds.
-- Returns:  jsonb number; JSON null when it has no such part.
create or replace function bpm_core.time_part(p_text text, p_name text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  r_time record;
begin
  select t.kind, t.at at time zone 'UTC' as at, t.span into r_time from bpm_core.read_time(p_text) t;
  return coalesce(to_jsonb(trim_scale(case
    when r_time.kind = 'duration' then case p_name when 'years' then extract(year from r_time.span) when 'months' then extract(month from r_time.span)
      when 'days' then extract(day from r_time.span) when 'hours' then extract(hour from r_time.span) when 'minutes' then extract(minute from r_time.span)
      when 'seconds' then extract(second from r_time.span) end
    when r_time.kind = 'time' or (r_time.kind = 'instant' and p_name in ('hour', 'minute', 'second')) then case p_name
      when 'hour' then extract(hour from coalesce(r_time.span, r_time.at::time::interval)) when 'minute' then extract(minute from coalesce(r_time.span, r_time.at::time::interval))
      when 'second' then extract(second from coalesce(r_time.span, r_time.at::time::interval)) end
    when r_time.kind in ('date', 'instant') then case p_name when 'year' then extract(year from r_time.at) when 'month' then extract(month from r_time.at)
      when 'day' then extract(day from r_time.at) when 'weekday' then extract(isodow from r_time.at) end end)), 'null');
end
$$;

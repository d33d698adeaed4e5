-- Compares two times: dates and points in time with each other, times of day, durations. A text beside a time is read as one.
-- Returns:  -1, 0, 1; null when they are not of a kind, or one is none.
create or replace function bpm_core.compare_times(p_left text, p_right text)
returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  r_left  record;
  r_right record;
begin
  select t.kind, t.at, t.span into r_left from bpm_core.read_time(p_left) t;
  select t.kind, t.at, t.span into r_right from bpm_core.read_time(p_right) t;
  return case
    when r_left.kind in ('date', 'instant') and r_right.kind in ('date', 'instant') then sign(extract(epoch from r_left.at) - extract(epoch from r_right.at))::integer
    when r_left.kind = r_right.kind then sign(extract(epoch from r_left.span) - extract(epoch from r_right.span))::integer end;
end
$$;

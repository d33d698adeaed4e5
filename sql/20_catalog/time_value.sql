-- A date, point in time, time of day or duration, as an evaluation holds it: __date:…, __instant:…, __time:… or __duration:…, with ISO 8601 behind.
-- Without a zone a time is UTC. p_kind: what it has to be; null: whatever it looks like. A point in time becomes a date at midnight UTC.
-- Returns:  jsonb text; null when it is none.
create or replace function bpm_core.time_value(p_text text, p_kind text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
declare
  r_time record;
begin
  select t.kind, t.at, t.span into r_time from bpm_core.read_time(p_text) t;
  return case
    when r_time.kind = 'duration' and coalesce(p_kind, 'duration') = 'duration' then to_jsonb('__duration:' || r_time.span::text)
    when r_time.kind = 'time' and coalesce(p_kind, 'time') = 'time' then to_jsonb('__time:' || to_char(r_time.span, 'HH24:MI:SS'))
    when r_time.kind in ('date', 'instant') and coalesce(p_kind, r_time.kind) = 'date' then to_jsonb('__date:' || to_char(r_time.at at time zone 'UTC', 'YYYY-MM-DD'))
    when r_time.kind in ('date', 'instant') and coalesce(p_kind, r_time.kind) = 'instant' then bpm_core.instant_value(r_time.at)
    when r_time.kind in ('date', 'instant') and p_kind = 'time' then to_jsonb('__time:' || to_char(r_time.at at time zone 'UTC', 'HH24:MI:SS')) end;
end
$$;

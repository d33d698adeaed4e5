-- A time moved by a duration, the sum or difference of two durations, or the duration between two points in time.
-- Returns:  jsonb; null when the two do not go together, or the result is out of range.
create or replace function bpm_core.shift_time(p_direction text, p_left text, p_right text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
declare
  r_left  record;
  r_right record;
  v_sign  constant integer := case p_direction when 'minus' then -1 else 1 end;
  v_at    timestamp;
begin
  select t.kind, t.at at time zone 'UTC' as at, t.span into r_left from bpm_core.read_time(p_left) t;
  select t.kind, t.at at time zone 'UTC' as at, t.span into r_right from bpm_core.read_time(p_right) t;
  if abs(extract(epoch from r_left.span)) > 1e12 or abs(extract(epoch from r_right.span)) > 1e12 then
    return null;
  elsif r_left.kind = 'duration' and r_right.kind = 'duration' then
    return to_jsonb('__duration:' || (r_left.span + v_sign * r_right.span)::text);
  elsif r_left.kind in ('date', 'instant') and r_right.kind in ('date', 'instant') and v_sign = -1 then
    return to_jsonb('__duration:' || (r_left.at - r_right.at)::text);
  elsif r_left.kind = 'duration' and r_right.kind in ('date', 'instant') and v_sign = 1 then
    return bpm_core.shift_time('plus', p_right, p_left);
  elsif r_left.kind in ('date', 'instant') and r_right.kind = 'duration' then
    v_at := r_left.at + v_sign * r_right.span;
    return case
      when v_at not between '0001-01-01' and '9999-12-31' then null
      when r_left.kind = 'date' and v_at = date_trunc('day', v_at) then to_jsonb('__date:' || to_char(v_at, 'YYYY-MM-DD'))
      else bpm_core.instant_value(v_at at time zone 'UTC') end;
  end if;
  return null;
end
$$;

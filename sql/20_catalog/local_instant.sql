-- The instant a clock on the wall shows a time: of one that is skipped when clocks go forward, the first instant after the gap; of one that is
-- shown twice when they go back, the first.
-- Returns:  timestamptz.
create or replace function bpm_core.local_instant(p_local timestamp, p_zone text)
returns timestamptz
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_instant timestamptz := p_local at time zone p_zone;
  v_shown   timestamp := v_instant at time zone p_zone;
  v_missed  interval;
  v_before  timestamptz;
  v_earlier timestamptz;
begin
  if v_shown <> p_local then
    v_missed := greatest(v_shown - p_local, p_local - v_shown);
    return bpm_core.zone_shift(p_zone, v_instant - v_missed, v_instant + v_missed);
  end if;
  -- PostgreSQL takes the second; with the offset of the day before it would be the first, if that is shown as the same time.
  v_before := v_instant - interval '1 day';
  v_earlier := (p_local - ((v_before at time zone p_zone) - (v_before at time zone 'UTC'))) at time zone 'UTC';
  return case when v_earlier < v_instant and v_earlier at time zone p_zone = p_local then v_earlier else v_instant end;
end
$$;

-- The next instant of a cron rule after one, in a time zone. A rule of fixed hours fires once a day it names, also when the clocks move: at the
-- first instant after a gap, and only the first time when an hour comes twice. One of every hour goes by the hours that pass.
-- Returns:  timestamptz; null when there is none any more.
create or replace function bpm_core.cron_next(p_cron bpm_core.cron, p_zone text, p_after timestamptz)
returns timestamptz
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from    timestamp := p_after at time zone p_zone;
  v_next    timestamp;
  v_instant timestamptz;
  v_shift   timestamptz;
begin
  if cardinality(p_cron.hours) = 24 then
    return bpm_core.cron_next_hourly(p_cron, p_zone, p_after);
  end if;
  v_instant := bpm_core.local_instant(v_from, p_zone);
  if v_instant < p_after then
    -- An hour that comes twice, the second time: all of it has been.
    v_shift := bpm_core.zone_shift(p_zone, v_instant, p_after);
    v_from := ((v_shift - interval '1 second') at time zone p_zone) + interval '1 second';
  else
    v_from := date_trunc('second', v_from) + interval '1 second';
  end if;
  loop
    v_next := bpm_core.cron_wall(p_cron, v_from);
    v_instant := bpm_core.local_instant(v_next, p_zone);
    exit when v_next is null or v_instant > p_after;
    v_from := v_next + interval '1 second';
  end loop;
  return v_instant;
end
$$;

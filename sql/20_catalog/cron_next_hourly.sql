-- cron_next for rules of every hour: what the clock on the wall shows, hour after hour as they pass.
-- Returns:  timestamptz; null when there is none any more.
create or replace function bpm_core.cron_next_hourly(p_cron bpm_core.cron, p_zone text, p_after timestamptz)
returns timestamptz
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_base    timestamptz := p_after;
  v_shown   timestamp := p_after at time zone p_zone;
  v_next    timestamp := bpm_core.cron_wall(p_cron, date_trunc('second', v_shown) + interval '1 second');
  v_instant timestamptz;
begin
  if v_next - v_shown > interval '1 day' then
    -- The days between have none; within one day the clocks move at most once.
    v_base := bpm_core.local_instant(date_trunc('day', v_next), p_zone);
    v_shown := v_base at time zone p_zone;
    v_next := bpm_core.cron_wall(p_cron, v_shown);
  end if;
  while v_next is not null loop
    v_instant := v_base + (v_next - v_shown);
    if v_instant at time zone p_zone = v_next then
      return v_instant;
    end if;
    v_base := bpm_core.zone_shift(p_zone, v_base, v_instant);
    v_shown := v_base at time zone p_zone;
    v_next := bpm_core.cron_wall(p_cron, v_shown);
  end loop;
  return null;
end
$$;

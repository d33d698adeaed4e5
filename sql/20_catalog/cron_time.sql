-- The first time of day of a cron rule at or after a time.
-- Returns:  time; null when the day has none left.
create or replace function bpm_core.cron_time(p_cron bpm_core.cron, p_from time)
returns time
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hour   integer := extract(hour from p_from)::integer;
  v_minute integer := extract(minute from p_from)::integer;
  v_second integer := trunc(extract(second from p_from))::integer;
  v_next   integer;
begin
  if v_hour = any (p_cron.hours) then
    if v_minute = any (p_cron.minutes) then
      v_next := (select min(s) from unnest(p_cron.seconds) s where s >= v_second);
      if v_next is not null then
        return make_time(v_hour, v_minute, v_next);
      end if;
    end if;
    v_next := (select min(m) from unnest(p_cron.minutes) m where m > v_minute);
    if v_next is not null then
      return make_time(v_hour, v_next, p_cron.seconds[1]);
    end if;
  end if;
  v_next := (select min(h) from unnest(p_cron.hours) h where h > v_hour);
  return make_time(v_next, p_cron.minutes[1], p_cron.seconds[1]);
end
$$;

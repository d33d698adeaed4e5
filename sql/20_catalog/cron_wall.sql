-- The first time on the clock on the wall that a cron rule names, at or after one. Steps over fields, months and days, never over minutes.
-- Returns:  timestamp; null when there is none within 100 years or before 2200.
create or replace function bpm_core.cron_wall(p_cron bpm_core.cron, p_from timestamp)
returns timestamp
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from  timestamp := date_trunc('second', p_from) + case when p_from > date_trunc('second', p_from) then interval '1 second' else interval '0' end;
  v_date  date := v_from::date;
  v_time  time := bpm_core.cron_time(p_cron, v_from::time);
  v_month integer;
  v_day   integer;
begin
  if v_time is null then
    v_date := v_date + 1;
    v_time := make_time(p_cron.hours[1], p_cron.minutes[1], p_cron.seconds[1]);
  end if;
  for v_year in extract(year from v_date)::integer .. least(2199, extract(year from v_date)::integer + 100) loop
    continue when v_year <> all (p_cron.years);
    foreach v_month in array p_cron.months loop
      continue when make_date(v_year, v_month, 1) < date_trunc('month', v_date)::date;
      foreach v_day in array bpm_core.cron_days(p_cron, v_year, v_month) loop
        if make_date(v_year, v_month, v_day) = v_date then
          return v_date + v_time;
        elsif make_date(v_year, v_month, v_day) > v_date then
          return make_date(v_year, v_month, v_day) + make_time(p_cron.hours[1], p_cron.minutes[1], p_cron.seconds[1]);
        end if;
      end loop;
    end loop;
  end loop;
  return null;
end
$$;

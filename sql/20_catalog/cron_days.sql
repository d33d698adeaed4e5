-- The days of one month on which a cron rule fires.
-- Returns:  integer[], sorted, empty when there is none.
create or replace function bpm_core.cron_days(p_cron bpm_core.cron, p_year integer, p_month integer)
returns integer[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first constant date := make_date(p_year, p_month, 1);
  v_last  constant integer := extract(day from v_first + interval '1 month' - interval '1 day')::integer;
  v_dow   constant integer := extract(dow from v_first)::integer;
  v_near  integer[] := array[]::integer[];
begin
  if p_cron.near_days <> '{}' or p_cron.near_last <> '{}' then
    -- The working day nearest to a day, never in another month.
    v_near := array(
      select n.day + case (v_dow + n.day - 1) % 7 when 6 then case when n.day > 1 then -1 else 2 end
                                                  when 0 then case when n.day < v_last then 1 else -2 end else 0 end
        from (select unnest(p_cron.near_days) union all select v_last - unnest(p_cron.near_last)) n (day)
       where n.day between 1 and v_last);
  end if;
  return array(
    select d.day
      from generate_series(1, v_last) d (day)
     cross join lateral (select (v_dow + d.day - 1) % 7 as dow) w
     cross join lateral (
       select d.day = any (p_cron.days) or (v_last - d.day) = any (p_cron.last_days) or d.day = any (v_near) as by_day,
              w.dow = any (p_cron.weekdays) or (w.dow * 10 + (d.day - 1) / 7 + 1) = any (p_cron.nth_weekdays)
                or (d.day > v_last - 7 and w.dow = any (p_cron.last_weekdays)) as by_weekday) m
     where case when p_cron.either then m.by_day or m.by_weekday else m.by_day and m.by_weekday end
     order by d.day);
end
$$;

-- The days of the week a cron rule names, for people: MON, FRI#3, SUNL.
-- Returns:  text.
create or replace function bpm_core.cron_weekdays(p_rule text)
returns text
language sql immutable
as $$
  select string_agg((array['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'])[x.day + 1] || x.which, ', ' order by x.day, x.which)
    from (select (bpm_core.parse_cron((bpm_core.split_zone(p_rule)).rule)).cron as rule) c
   cross join lateral (
     select unnest((c.rule).weekdays) as day, '' as which
     union
     select d / 10, '#' || d % 10 from unnest((c.rule).nth_weekdays) d
     union
     select d, 'L' from unnest((c.rule).last_weekdays) d) x
$$;

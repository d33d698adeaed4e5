-- Reads a cron rule: 5 fields (minute hour day month weekday), 6 (seconds first), 7 (year last), or a macro such as @daily.
-- Numbers of weekdays differ between engines: with ? or a year it is Quartz that speaks, where 1 is Sunday, unless a 0 says otherwise;
-- else 0 and 7 are. Both days restricted: with 5 fields either matches, as in Unix; with more both must, as in Spring.
-- Returns:  cron; problem when it is none; numbered: a weekday is named by a number and there are more than 5 fields.
create or replace function bpm_core.parse_cron(p_text text, out cron bpm_core.cron, out problem text, out numbered boolean)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_months constant text[] := array['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
  v_text   text := upper(btrim(p_text, E' \t\r\n'));
  v_fields text[];
  v_count  integer;
  v_sunday integer;
begin
  v_text := case v_text when '@YEARLY' then '0 0 1 1 *' when '@ANNUALLY' then '0 0 1 1 *' when '@MONTHLY' then '0 0 1 * *' when '@WEEKLY' then '0 0 * * 0'
                        when '@DAILY' then '0 0 * * *' when '@MIDNIGHT' then '0 0 * * *' when '@HOURLY' then '0 * * * *' else v_text end;
  v_fields := regexp_split_to_array(v_text, '\s+');
  v_count := coalesce(cardinality(v_fields), 0);
  if v_count not between 5 and 7 or length(v_text) > 500 then
    problem := 'it has not 5, 6 or 7 fields';
    return;
  end if;
  if v_count = 5 then
    v_fields := '0'::text || v_fields;
  end if;
  numbered := v_count > 5 and regexp_replace(v_fields[6], '#\d|/\d+', '', 'g') ~ '\d';
  v_sunday := case when (v_count = 7 or (v_count = 6 and '?' in (v_fields[4], v_fields[6]))) and regexp_replace(v_fields[6], '/\d+', '', 'g') !~ '0' then 1 else 0 end;
  cron.seconds := bpm_core.sorted_set(bpm_core.cron_values(v_fields[1], 0, 59, 60));
  cron.minutes := bpm_core.sorted_set(bpm_core.cron_values(v_fields[2], 0, 59, 60));
  cron.hours := bpm_core.sorted_set(bpm_core.cron_values(v_fields[3], 0, 23, 24));
  cron.months := bpm_core.sorted_set(bpm_core.cron_values(v_fields[5], 1, 12, 12, v_months));
  cron.years := bpm_core.sorted_set(bpm_core.cron_values(nullif(v_fields[7], '*'), 1970, 2199, 230));
  select d.days, d.last_days, d.near_days, d.near_last into cron.days, cron.last_days, cron.near_days, cron.near_last
    from bpm_core.cron_day_field(case v_fields[4] when '?' then '*' else v_fields[4] end) d;
  select d.weekdays, d.nth_weekdays, d.last_weekdays into cron.weekdays, cron.nth_weekdays, cron.last_weekdays
    from bpm_core.cron_weekday_field(case v_fields[6] when '?' then '*' else v_fields[6] end, v_sunday) d;
  cron.either := v_count = 5 and left(v_fields[4], 1) not in ('*', '?') and left(v_fields[6], 1) not in ('*', '?');
  problem := (
    select format('the field %s, %s, cannot be read', x.name, quote_literal(left(x.field, 50)))
      from (values (1, 'second', v_fields[1], cron.seconds), (2, 'minute', v_fields[2], cron.minutes), (3, 'hour', v_fields[3], cron.hours),
                   (4, 'day of month', v_fields[4], cron.days), (5, 'month', v_fields[5], cron.months), (6, 'day of week', v_fields[6], cron.weekdays),
                   (7, 'year', nullif(v_fields[7], '*'), cron.years)) x (n, name, field, found)
     where x.found is null and x.field is not null
     order by x.n
     limit 1);
end
$$;

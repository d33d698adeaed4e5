-- Cron rules: how they are read, and their exact instants, over summer time, leap years and the ends of months.
begin;
select no_plan();
set local timezone = 'Asia/Ho_Chi_Minh';
-- The next instants of a rule, as a clock of UTC shows them.
create function pg_temp.next(p_rule text, p_zone text, p_after timestamptz, p_count integer default 1) returns text[] language sql as $$
  with recursive fires as (
    select bpm_core.cron_next((bpm_core.parse_cron(p_rule)).cron, p_zone, p_after) as at, 1 as n
    union all
    select bpm_core.cron_next((bpm_core.parse_cron(p_rule)).cron, p_zone, f.at), f.n + 1 from fires f where f.n < p_count and f.at is not null)
  select array_agg(to_char(f.at at time zone 'UTC', case when f.at = date_trunc('minute', f.at) then 'YYYY-MM-DD HH24:MI' else 'YYYY-MM-DD HH24:MI:SS' end) order by f.n)
    from fires f where f.at is not null
$$;
create function pg_temp.sets(p_rule text) returns text language sql as $$
  select concat_ws(' ', (c.cron).seconds, (c.cron).minutes, (c.cron).hours, (c.cron).months, coalesce((c.cron).years::text, '-')) from bpm_core.parse_cron(p_rule) c
$$;

-- Reading
select is(pg_temp.sets('5 9-11 * JAN,3 *'), '{0} {5} {9,10,11} {1,3} -', 'five fields: minute first, seconds are 0');
select is(pg_temp.sets('*/20 0/30 22-2 ? NOV-FEB MON 2030-2032'), '{0,20,40} {0,30} {0,1,2,22,23} {1,2,11,12} {2030,2031,2032}', 'seven: seconds first, year last; ranges over the end, steps');
select is(pg_temp.sets(x.macro), pg_temp.sets(x.same), x.macro || ' is ' || x.same)
  from (values ('@yearly', '0 0 1 1 *'), ('@annually', '0 0 1 1 *'), ('@monthly', '0 0 1 * *'), ('@weekly', '0 0 * * SUN'), ('@daily', '0 0 * * *'), ('@midnight', '0 0 * * *'), ('@hourly', '0 * * * *')) x (macro, same);
select is((bpm_core.parse_cron(x.rule)).problem, x.problem, x.rule || ' is none')
  from (values ('0 9 * *', 'it has not 5, 6 or 7 fields'), ('', 'it has not 5, 6 or 7 fields'), ('tomorrow', 'it has not 5, 6 or 7 fields'), ('60 * * * *', 'the field minute, ''60'', cannot be read'),
               ('* 24 * * *', 'the field hour, ''24'', cannot be read'), ('0 0 0 * *', 'the field day of month, ''0'', cannot be read'), ('0 0 32 * *', 'the field day of month, ''32'', cannot be read'),
               ('0 0 * 13 *', 'the field month, ''13'', cannot be read'), ('0 0 * * 8', 'the field day of week, ''8'', cannot be read'), ('0 0 * FOO *', 'the field month, ''FOO'', cannot be read'),
               ('*/0 * * * *', 'the field minute, ''*/0'', cannot be read'), ('*/90 * * * *', 'the field minute, ''*/90'', cannot be read'), ('1,, * * * *', 'the field minute, ''1,,'', cannot be read'),
               ('0 0 ? * 1#6', 'the field day of week, ''1#6'', cannot be read'), ('0 0 L-31 * *', 'the field day of month, ''L-31'', cannot be read'), ('? * * * *', 'the field minute, ''?'', cannot be read'),
               ('0 0 * * L', 'the field day of week, ''L'', cannot be read'), ('0 0 0 1 1 ? 1969', 'the field year, ''1969'', cannot be read'), ('0 0 0 1 1 ? 2035-2030', null),
               ('@every 5m', 'it has not 5, 6 or 7 fields'), ('-1 * * * *', 'the field minute, ''-1'', cannot be read'), ('0 0 0W * *', 'the field day of month, ''0W'', cannot be read')) x (rule, problem)
 where x.problem is not null;
select is((bpm_core.parse_cron(null)).problem, 'it has not 5, 6 or 7 fields', 'nor is null');

-- Days of the week: Unix, Spring, Quartz
select is(bpm_core.cron_weekdays(x.rule), x.days, x.rule || ' is ' || x.days)
  from (values ('0 9 * * 1-5', 'MON, TUE, WED, THU, FRI'), ('0 9 * * 0', 'SUN'), ('0 9 * * 7', 'SUN'), ('0 9 * * 5-7', 'SUN, FRI, SAT'), ('0 9 * * FRI-MON', 'SUN, MON, FRI, SAT'),
               ('0 0 9 * * 1', 'MON'), ('0 0 9 ? * 1', 'SUN'), ('0 0 9 ? * 2-6', 'MON, TUE, WED, THU, FRI'), ('0 0 9 ? * 0', 'SUN'), ('0 0 9 ? * MON#2', 'MON#2'), ('0 0 9 ? * 2#2', 'MON#2'),
               ('0 0 9 ? * 6L', 'FRIL'), ('0 0 9 * * 5L', 'FRIL'), ('0 0 9 ? * L', 'SAT'), ('0 0 9 ? * 2 *', 'MON'), ('0 9 * * 1/2', 'MON, WED, FRI')) x (rule, days);
select is((select array_agg(x.rule) from (values ('0 9 * * 1-5'), ('0 0 9 * * 1'), ('0 0 9 * * MON#2'), ('0 0 9 * * MON'), ('0 0 9 ? * 2#2'), ('0 0 9 * * */2')) x (rule) where (bpm_core.parse_cron(x.rule)).numbered),
  '{"0 0 9 * * 1","0 0 9 ? * 2#2"}', 'numbers of weekdays are noted where engines differ');

-- 9:00 in Berlin on both days when the clocks move
select is(pg_temp.next('0 9 * * *', 'Europe/Berlin', '2026-03-27 12:00Z', 3), '{"2026-03-28 08:00","2026-03-29 07:00","2026-03-30 07:00"}', 'forward: 23 hours between');
select is(pg_temp.next('0 9 * * *', 'Europe/Berlin', '2026-10-23 12:00Z', 3), '{"2026-10-24 07:00","2026-10-25 08:00","2026-10-26 08:00"}', 'back: 25 hours between');
select is(pg_temp.next('0 9 * * *', 'America/New_York', '2026-03-07 00:00Z', 2), '{"2026-03-07 14:00","2026-03-08 13:00"}', 'New York, forward');
select is(pg_temp.next('0 9 * * *', 'Australia/Lord_Howe', '2026-10-02 12:00Z', 2), '{"2026-10-02 22:30","2026-10-03 22:00"}', 'Lord Howe, by half an hour');
-- A time that does not exist fires at the first instant after the gap, once
select is(pg_temp.next('30 2 * * *', 'Europe/Berlin', '2026-03-28 00:00Z', 3), '{"2026-03-28 01:30","2026-03-29 01:00","2026-03-30 00:30"}', 'Berlin, 2:30');
select is(pg_temp.next('0,30 2,3 * * *', 'Europe/Berlin', '2026-03-29 00:00Z', 3), '{"2026-03-29 01:00","2026-03-29 01:30","2026-03-30 00:00"}', 'several of them once, together with what falls on that instant');
select is(pg_temp.next('30 2 * * *', 'America/New_York', '2026-03-07 12:00Z', 2), '{"2026-03-08 07:00","2026-03-09 06:30"}', 'New York');
select is(pg_temp.next('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02 20:00Z', 2), '{"2026-10-03 15:30","2026-10-04 15:15"}', 'Lord Howe');
select is(pg_temp.next('30 0 * * *', 'America/Santiago', '2026-09-05 12:00Z', 2), '{"2026-09-06 04:00","2026-09-07 03:30"}', 'Santiago, where midnight is skipped');
-- One that comes twice fires once, the first time
select is(pg_temp.next('30 2 * * *', 'Europe/Berlin', '2026-10-24 12:00Z', 2), '{"2026-10-25 00:30","2026-10-26 01:30"}', 'Berlin, 2:30');
select is(pg_temp.next('30 2 * * *', 'Europe/Berlin', x.after, 1), x.next, 'asked at ' || x.after)
  from (values (timestamptz '2026-10-25 00:29:59.5Z', '{"2026-10-25 00:30"}'::text[]), ('2026-10-25 00:30Z', '{"2026-10-26 01:30"}'), ('2026-10-25 01:15Z', '{"2026-10-26 01:30"}'), ('2026-10-25 01:45Z', '{"2026-10-26 01:30"}')) x (after, next);
select is(pg_temp.next('*/20 1-3 * * *', 'Europe/Berlin', '2026-10-25 00:15Z', 4), '{"2026-10-25 00:20","2026-10-25 00:40","2026-10-25 02:00","2026-10-25 02:20"}', 'a range of hours: nothing in the second 2:00 to 3:00');
select is(pg_temp.next('30 1 * * *', 'America/New_York', '2026-10-31 12:00Z', 2), '{"2026-11-01 05:30","2026-11-02 06:30"}', 'New York');
select is(pg_temp.next('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04 00:00Z', 2), '{"2026-04-04 14:45","2026-04-05 15:15"}', 'Lord Howe');
-- Rules of every hour go by the hours that pass
select is(pg_temp.next('*/30 * * * *', 'Europe/Berlin', '2026-10-24 23:59Z', 6), '{"2026-10-25 00:00","2026-10-25 00:30","2026-10-25 01:00","2026-10-25 01:30","2026-10-25 02:00","2026-10-25 02:30"}', 'through the hour that comes twice');
select is(pg_temp.next('15 * * * *', 'Europe/Berlin', '2026-03-29 00:00Z', 3), '{"2026-03-29 00:15","2026-03-29 01:15","2026-03-29 02:15"}', 'and past the one that is skipped');
select is(pg_temp.next('*/20 * * * *', 'Australia/Lord_Howe', '2026-04-04 14:30Z', 5), '{"2026-04-04 14:40","2026-04-04 15:10","2026-04-04 15:30","2026-04-04 15:50","2026-04-04 16:10"}', 'half an hour back');
select is(pg_temp.next('0 */15 * * 11 0 *', 'America/New_York', '2026-11-01 05:40Z', 3), '{"2026-11-01 05:45","2026-11-01 06:00","2026-11-01 06:15"}', 'on one day of the week');
select is(pg_temp.next('0 * 1 1 *', 'Europe/Berlin', '2026-06-01 00:00Z', 2), '{"2026-12-31 23:00","2027-01-01 00:00"}', 'months ahead, over a change of the clocks');
-- Seconds
select is(pg_temp.next('*/25 59 23 31 12 ?', 'UTC', '2026-12-31 23:59:26Z', 2), '{"2026-12-31 23:59:50","2027-12-31 23:59"}', 'seconds, over the end of a year');
select is(pg_temp.next('* * * * * *', 'Europe/Berlin', '2026-12-31 22:59:59.25Z', 2), '{"2026-12-31 23:00","2026-12-31 23:00:01"}', 'every second');
-- Ends of months, leap years
select is(pg_temp.next('0 0 31 * *', 'UTC', '2026-01-31 00:00Z', 3), '{"2026-03-31 00:00","2026-05-31 00:00","2026-07-31 00:00"}', 'the 31st skips short months');
select is(pg_temp.next('0 0 L * *', 'UTC', '2027-12-31 00:00Z', 3), '{"2028-01-31 00:00","2028-02-29 00:00","2028-03-31 00:00"}', 'L, a leap year');
select is(pg_temp.next('0 0 0 L-2 * ?', 'UTC', '2026-02-01 00:00Z', 2), '{"2026-02-26 00:00","2026-03-29 00:00"}', 'L-2');
select is(pg_temp.next('0 0 29 2 *', 'UTC', '2096-03-01 00:00Z', 1), '{"2104-02-29 00:00"}', '29 February, over 2100');
select is(pg_temp.next('0 0 0 29 2 MON', 'UTC', '2026-01-01 00:00Z', 2), '{"2044-02-29 00:00","2072-02-29 00:00"}', 'on a Monday: both must match with six fields');
select is(pg_temp.next('0 0 13 * FRI', 'UTC', '2026-11-01 00:00Z', 4), '{"2026-11-06 00:00","2026-11-13 00:00","2026-11-20 00:00","2026-11-27 00:00"}', 'with five either, as in Unix');
select is(pg_temp.next('0 0 0 13 * FRI', 'UTC', '2026-01-01 00:00Z', 3), '{"2026-02-13 00:00","2026-03-13 00:00","2026-11-13 00:00"}', 'Friday, the 13th');
select is(pg_temp.next('0 0 */2 * MON', 'UTC', '2026-11-01 00:00Z', 2), '{"2026-11-09 00:00","2026-11-23 00:00"}', 'a step from * restricts nothing by itself, as in Unix: both');
-- W and #
select is(pg_temp.next('0 0 0 15W * ?', 'UTC', '2026-08-01 00:00Z', 3), '{"2026-08-14 00:00","2026-09-15 00:00","2026-10-15 00:00"}', '15W: Saturday is Friday');
select is(pg_temp.next('0 0 0 1W * ?', 'UTC', '2026-07-02 00:00Z', 2), '{"2026-08-03 00:00","2026-09-01 00:00"}', '1W does not leave its month');
select is(pg_temp.next('0 0 0 31W * ?', 'UTC', '2026-05-01 00:00Z', 2), '{"2026-05-29 00:00","2026-07-31 00:00"}', '31W, and months without a 31st');
select is(pg_temp.next('0 0 0 LW * ?', 'UTC', '2026-02-01 00:00Z', 2), '{"2026-02-27 00:00","2026-03-31 00:00"}', 'LW');
select is(pg_temp.next('0 0 9 ? * MON#1', 'UTC', '2026-01-01 00:00Z', 2), '{"2026-01-05 09:00","2026-02-02 09:00"}', 'the first Monday');
select is(pg_temp.next('0 0 9 ? * FRI#5', 'UTC', '2026-02-01 00:00Z', 2), '{"2026-05-29 09:00","2026-07-31 09:00"}', 'a fifth Friday');
select is(pg_temp.next('0 0 9 ? * SUNL', 'UTC', '2026-02-01 00:00Z', 2), '{"2026-02-22 09:00","2026-03-29 09:00"}', 'the last Sunday');
select is(pg_temp.next('0 0 9 1,15,L * ?', 'UTC', '2026-02-10 00:00Z', 3), '{"2026-02-15 09:00","2026-02-28 09:00","2026-03-01 09:00"}', 'lists of both');
-- It ends
select is(pg_temp.next('0 0 12 1 1 ? 2027-2028', 'UTC', '2026-06-01 00:00Z', 3), '{"2027-01-01 12:00","2028-01-01 12:00"}', 'with its last year');
select is(pg_temp.next(x.rule, 'Europe/Berlin', '2026-06-01 00:00Z', 1), null, x.rule || ' never comes') from (values ('0 0 31 2 *'), ('0 0 30 2 *'), ('0 0 31 4,6,9,11 *'), ('0 0 0 L-30 2 ?'), ('0 0 12 1 1 ? 2020')) x (rule);
select is(pg_temp.next('59 59 23 31 12 ?', 'UTC', '2199-12-31 23:59:58Z', 2), '{"2199-12-31 23:59:59"}', 'at the latest with the year 2199');

select * from finish();
rollback;

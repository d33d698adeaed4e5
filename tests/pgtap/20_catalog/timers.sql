-- Durations, dates, cycles and the grid of a timer.
begin;
select no_plan();

select is(bpm_core.parse_duration(x.text), x.expected::interval, coalesce(x.text, 'null') || ' is a duration')
  from (values ('PT5M', '5 minutes'), ('PT1S', '1 second'), ('P1Y2M3W4DT5H6M7S', '1 year 2 months 25 days 5:06:07'), ('P2W', '14 days'), ('PT0.5S', '0.5 seconds'),
               ('PT0,5S', '0.5 seconds'), ('P3M', '3 months'), ('PT36H', '36 hours'), (' PT1M ', '1 minute'), ('PT0S', '0'), ('P9999Y', '9999 years')) x (text, expected);
select is(bpm_core.parse_duration(x.text), null, coalesce(x.text, 'null') || ' is none')
  from (values ('P'), ('PT'), ('5 minutes'), ('-PT5M'), ('PT5'), ('P5H'), ('P1DT'), ('P0001-02-03T04:05:06'), ('PT5M; select'), (''), (null), ('P99999Y'), ('pt5m')) x (text);

select is(bpm_core.parse_timestamp(x.text), x.expected::timestamptz, x.text || ' is a date')
  from (values ('2030-01-31', '2030-01-31 00:00+00'), ('2030-01-31T12:00', '2030-01-31 12:00+00'), ('2030-01-31T12:00:00Z', '2030-01-31 12:00+00'),
               ('2030-01-31T12:00:00.25+07:00', '2030-01-31 05:00:00.25+00'), ('2028-02-29', '2028-02-29 00:00+00'), ('2030-01-31T12:00:00-0530', '2030-01-31 17:30+00')) x (text, expected);
set local timezone = 'Asia/Ho_Chi_Minh';
select is(bpm_core.parse_timestamp('2030-01-31T12:00:00'), '2030-01-31 12:00+00', 'without a zone it is UTC, whatever the session''s zone');
select is(bpm_core.parse_timestamp(x.text), null, coalesce(x.text, 'null') || ' is none')
  from (values ('2030-02-29'), ('2030-13-01'), ('2030-00-10'), ('2030-01-00'), ('2030-01-31T24:00'), ('2030-01-31T12:60'), ('31.01.2030'), ('tomorrow'), ('0000-01-01'), (null)) x (text);

select results_eq($$select repeats, starts_at, step from bpm_core.parse_cycle('R3/PT10M')$$, $$values (3, null::timestamptz, interval '10 minutes')$$, 'a cycle');
select results_eq($$select repeats, starts_at, step from bpm_core.parse_cycle('R/P1D')$$, $$values (null::integer, null::timestamptz, interval '1 day')$$, 'for ever');
select results_eq($$select repeats, starts_at, step from bpm_core.parse_cycle('R-1/P1D')$$, $$values (null::integer, null::timestamptz, interval '1 day')$$, 'for ever, written -1');
select results_eq($$select repeats, starts_at, step from bpm_core.parse_cycle('R2/2030-01-31T00:00:00Z/P1M')$$, $$values (2, timestamptz '2030-01-31 00:00+00', interval '1 month')$$, 'with a start');
select is((select c.step from bpm_core.parse_cycle(x.text) c), null, x.text || ' is no cycle')
  from (values ('R0/PT1S'), ('R3/PT0S'), ('R/PT0.999S'), ('R/PT0.000001S'), ('R3'), ('PT1S'), ('R3/2030-01-31/2030-02-01'), ('R3/PT1H/2030-13-01'), ('0 0 12 * * ?'), ('Rx/PT1S')) x (text);

select results_eq($$select repeats, starts_at, step, ends_at from bpm_core.parse_cycle('R3/PT1H/2030-01-01')$$,
  $$values (3, null::timestamptz, interval '1 hour', timestamptz '2030-01-01 00:00+00')$$, 'with an end');
select is((bpm_core.parse_cycle('R/2030-06-01T09:00/P1D', 'Europe/Berlin')).starts_at, '2030-06-01 07:00+00', 'a start without an offset is local time of the zone');

-- zones
select is(bpm_core.parse_timestamp(x.text, x.zone), x.expected::timestamptz, x.text || ' in ' || x.zone)
  from (values ('2026-01-31T12:00', 'Europe/Berlin', '2026-01-31 11:00Z'), ('2026-07-31', 'Europe/Berlin', '2026-07-30 22:00Z'), ('2026-07-31T12:00Z', 'Europe/Berlin', '2026-07-31 12:00Z'),
               ('2026-07-31T12:00+09:00', 'Europe/Berlin', '2026-07-31 03:00Z'), ('2026-07-31T12:00+05', 'UTC', '2026-07-31 07:00Z'),
               ('2026-03-29T02:30', 'Europe/Berlin', '2026-03-29 01:00Z'), ('2026-10-25T02:30', 'Europe/Berlin', '2026-10-25 00:30Z'),
               ('2026-03-08T02:30', 'America/New_York', '2026-03-08 07:00Z'), ('2026-11-01T01:30', 'America/New_York', '2026-11-01 05:30Z'),
               ('2026-10-04T02:15', 'Australia/Lord_Howe', '2026-10-03 15:30Z'), ('2026-04-05T01:45', 'Australia/Lord_Howe', '2026-04-04 14:45Z'),
               ('2011-12-30T12:00', 'Pacific/Apia', '2011-12-30 10:00Z'), ('2026-04-05T01:29:59', 'Australia/Lord_Howe', '2026-04-04 14:29:59Z')) x (text, zone, expected);
select is(bpm_core.known_zone(x.zone), x.known, coalesce(x.zone, 'null') || case when x.known then ' is a zone' else ' is none' end)
  from (values ('Europe/Berlin', true), ('UTC', true), ('America/Argentina/Buenos_Aires', true), ('Etc/GMT+5', true), ('Europe/Atlantis', false), ('CEST', false), ('IST', false),
               ('UTC+3', false), ('+02:00', false), ('<X>-5', false), ('../../etc/passwd', false), ('', false), (null, false)) x (zone, known);
select results_eq(format('select s.rule, s.zone from bpm_core.split_zone(%L) s', x.text), format('values (%L, %L)', x.rule, x.zone), x.text || ' is taken apart')
  from (values ('CRON_TZ=Europe/Berlin 0 9 * * *', '0 9 * * *', 'Europe/Berlin'), ('TZ=Asia/Tokyo @daily', '@daily', 'Asia/Tokyo'), ('2030-01-31T12:00[Europe/Berlin]', '2030-01-31T12:00', 'Europe/Berlin'),
               ('R3/2030-01-31T12:00+01:00[Europe/Berlin]/P1D', 'R3/2030-01-31T12:00+01:00/P1D', 'Europe/Berlin'), (' PT5M ', 'PT5M', null), ('[x]', '[x]', null)) x (text, rule, zone);
select results_eq($$select scheduled_at, time_zone from bpm_core.timer_first('Date', '2026-07-31T12:00[Europe/Berlin]', '2026-01-01Z', 'Asia/Tokyo')$$,
  $$values (timestamptz '2026-07-31 10:00Z', 'Europe/Berlin')$$, 'the zone of the text wins');
select is((select f.scheduled_at from bpm_core.timer_first('Duration', 'P1D', '2026-03-28 08:00Z', 'Europe/Berlin') f), '2026-03-29 07:00Z', 'a day is a day of the calendar: 23 hours');
select is((select f.scheduled_at from bpm_core.timer_first('Duration', 'PT24H', '2026-03-28 08:00Z', 'Europe/Berlin') f), '2026-03-29 08:00Z', '24 hours are 24 hours');
select is((select f.scheduled_at from bpm_core.timer_first('Duration', 'P1MT1H', '2026-01-31 11:00Z', 'Europe/Berlin') f), '2026-02-28 12:00Z', 'first the calendar, then the hours');
select is_empty($$select * from bpm_core.timer_first('Date', '2026-07-31T12:00[Europe/Atlantis]', '2026-01-01Z')$$, 'no row for a zone that is none');

-- R/duration/end: points go back from the end
select results_eq($$select anchor_at, scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R5/PT1H/2030-01-01T12:00Z', '2030-01-01 00:00Z')$$,
  $$values (timestamptz '2030-01-01 12:00Z', timestamptz '2030-01-01 08:00Z', 5)$$, 'five, the last at the end');
select results_eq($$select scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R5/PT1H/2030-01-01T12:00Z', '2030-01-01 09:30Z')$$,
  $$values (timestamptz '2030-01-01 10:00Z', 3)$$, 'missed ones count as used');
select results_eq($$select scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R/P1M/2030-03-31Z', '2029-12-15 00:00Z')$$, $$select null::timestamptz, null::integer where false$$, 'a date with Z but no time is none');
select results_eq($$select scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R/P1M/2030-03-31', '2029-12-15 00:00Z')$$,
  $$values (timestamptz '2029-12-31 00:00Z', 4)$$, 'without a number, from now until the end');
select results_eq($$select scheduled_at from bpm_core.timer_next('2030-03-31 00:00Z', '1 month', '2029-12-31 00:00Z', '2029-12-31 00:00:01Z')$$, $$values (timestamptz '2030-01-31 00:00Z')$$, 'on the grid of the end');
select results_eq($$select scheduled_at from bpm_core.timer_next('2030-03-31 00:00Z', '1 month', '2030-01-31 00:00Z', '2030-01-31 00:00:01Z')$$, $$values (timestamptz '2030-02-28 00:00Z')$$, 'month by month');
select results_eq($$select scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R3/PT1H/2030-01-01', '2031-01-01 00:00Z')$$, $$values (timestamptz '2030-01-01 00:00Z', 1)$$, 'all behind: the end, due at once');

-- cycles in zones
select is((select array_agg(to_char(bpm_core.timer_at('2026-03-27 08:00Z', '1 day', k, 'Europe/Berlin') at time zone 'UTC', 'DD HH24:MI') order by k) from generate_series(0, 3) k),
  '{"27 08:00","28 08:00","29 07:00","30 07:00"}', 'a day at a time, 9:00 local on each');
select is((select array_agg(to_char(bpm_core.timer_at('2026-01-31 01:30Z', '1 month', k, 'Europe/Berlin') at time zone 'UTC', 'MM-DD HH24:MI') order by k) from generate_series(0, 9) k),
  '{"01-31 01:30","02-28 01:30","03-31 00:30","04-30 00:30","05-31 00:30","06-30 00:30","07-31 00:30","08-31 00:30","09-30 00:30","10-31 01:30"}', 'months do not drift');
select is(bpm_core.timer_at('2024-02-29 12:00Z', '1 year', x.k, 'Europe/Berlin'), x.expected::timestamptz, x.k || ' years after a leap day')
  from (values (1, '2025-02-28 12:00Z'), (4, '2028-02-29 12:00Z')) x (k, expected);
select is((select bool_and(bpm_core.timer_point('2000-01-31 00:30+01', x.step, bpm_core.timer_at('2000-01-31 00:30+01', x.step, k, x.zone), x.zone) = k)
             from (values (interval '1 month'), (interval '1 day'), (interval '1 month 1 day 1 hour'), (interval '6 hours')) x1 (step), (values ('Europe/Berlin'), ('America/New_York')) x2 (zone)
            cross join lateral (select x1.step, x2.zone) x cross join generate_series(0, 700, 13) k), true, 'a point is found again by its time, in zones too');

-- the first due time
select results_eq($$select anchor_at, step, scheduled_at, remaining from bpm_core.timer_first('Duration', 'PT1S', '2030-01-01 00:00+00')$$,
  $$values (timestamptz '2030-01-01 00:00+00', null::interval, timestamptz '2030-01-01 00:00:01+00', 1)$$, 'a duration, from now');
select results_eq($$select scheduled_at, remaining from bpm_core.timer_first('Date', '2029-01-01', '2030-01-01 00:00+00')$$,
  $$values (timestamptz '2029-01-01 00:00+00', 1)$$, 'a date, past or not');
select results_eq($$select anchor_at, step, scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R3/PT10M', '2030-01-01 00:00+00')$$,
  $$values (timestamptz '2030-01-01 00:00+00', interval '10 minutes', timestamptz '2030-01-01 00:10+00', 3)$$, 'a cycle starts one step from now');
select results_eq($$select anchor_at, scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R3/2030-02-01/P1D', '2030-01-01 00:00+00')$$,
  $$values (timestamptz '2030-02-01 00:00+00', timestamptz '2030-02-01 00:00+00', 3)$$, 'with a start ahead, at the start');
select results_eq($$select anchor_at, scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R5/2030-01-01/P1D', '2030-01-02 12:00+00')$$,
  $$values (timestamptz '2030-01-01 00:00+00', timestamptz '2030-01-03 00:00+00', 3)$$, 'with a start behind, at the next point of its grid; missed ones count');
select results_eq($$select scheduled_at, remaining from bpm_core.timer_first('Cycle', 'R2/2030-01-01/P1D', '2031-01-01 00:00+00')$$,
  $$values (timestamptz '2030-01-02 00:00+00', 1)$$, 'all points behind: the last one, due at once');
select results_eq($$select remaining from bpm_core.timer_first('Cycle', 'R/PT1S', '2030-01-01 00:00+00')$$, $$values (null::integer)$$, 'for ever has no count');
select is_empty($$select * from bpm_core.timer_first('Duration', 'soon', '2030-01-01 00:00+00')$$, 'no row for a rule that is none');
select is_empty($$select * from bpm_core.timer_first('Cycle', 'PT1S', '2030-01-01 00:00+00')$$, 'nor for a rule of another kind');

-- the grid
select is(bpm_core.timer_at('2030-01-31 00:00+00', '1 month', 1), '2030-02-28 00:00+00', 'the end of a month');
select is(bpm_core.timer_at('2030-01-31 00:00+00', '1 month', 2), '2030-03-31 00:00+00', 'and back to the grid: points are counted from the anchor');
set local timezone = 'Europe/Berlin';
select is(bpm_core.timer_at('2030-03-30 12:00+00', '1 day', 1), '2030-03-31 12:00+00', 'a day is a day of UTC, whatever the session''s zone does');
select results_eq($$select * from bpm_core.timer_next('2030-01-01 00:00+00', '10 minutes', '2030-01-01 00:10+00', '2030-01-01 00:11+00')$$,
  $$values (timestamptz '2030-01-01 00:20+00', 0::bigint)$$, 'the next point');
select results_eq($$select * from bpm_core.timer_next('2030-01-01 00:00+00', '10 minutes', '2030-01-01 00:10+00', '2030-01-01 00:45+00')$$,
  $$values (timestamptz '2030-01-01 00:50+00', 3::bigint)$$, 'after downtime on the same grid, with the number passed over');
select is((select bool_and(bpm_core.timer_point('2000-01-31 00:00+00', x.step, bpm_core.timer_at('2000-01-31 00:00+00', x.step, k)) = k)
             from (values (interval '1 month'), (interval '1 year'), (interval '1 day'), (interval '1 month 1 day'), (interval '7 seconds')) x (step)
            cross join generate_series(0, 700, 7) k), true, 'a point is found again by its time, whatever the step');
select is(bpm_core.timer_point('2000-01-31 00:00+00', '1 month', '2049-01-15 00:00+00'), 588::bigint, 'between two points, the later one');

-- More points missed than fit an integer: none are left, and nothing overflows
select is((select n::text from bpm_core.next_occurrence((jsonb_populate_record(null::bpm_core.timer, '{"kind": "Cycle", "rule": "R5/0001-01-01T00:00:00Z/PT1S", "time_zone": "UTC", "catch_up": "Once",
             "remaining": 5, "anchor_at": "0001-01-01T00:00:00Z", "scheduled_at": "0001-01-01T00:00:00Z"}')), '2026-01-01 00:00+00') n), '(,0)', 'a cycle that began long ago is over');

select * from finish();
rollback;

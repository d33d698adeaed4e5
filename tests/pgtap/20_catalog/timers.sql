-- Durations, dates, cycles and the grid of a timer.
begin;
select plan(71);

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

select results_eq($$select * from bpm_core.parse_cycle('R3/PT10M')$$, $$values (3, null::timestamptz, interval '10 minutes')$$, 'a cycle');
select results_eq($$select * from bpm_core.parse_cycle('R/P1D')$$, $$values (null::integer, null::timestamptz, interval '1 day')$$, 'for ever');
select results_eq($$select * from bpm_core.parse_cycle('R-1/P1D')$$, $$values (null::integer, null::timestamptz, interval '1 day')$$, 'for ever, written -1');
select results_eq($$select * from bpm_core.parse_cycle('R2/2030-01-31T00:00:00Z/P1M')$$, $$values (2, timestamptz '2030-01-31 00:00+00', interval '1 month')$$, 'with a start');
select is((select c.step from bpm_core.parse_cycle(x.text) c), null, x.text || ' is no cycle')
  from (values ('R0/PT1S'), ('R3/PT0S'), ('R/PT0.999S'), ('R/PT0.000001S'), ('R3'), ('PT1S'), ('R3/2030-01-31/2030-02-01'), ('R3/PT1H/2030-01-01'), ('0 0 12 * * ?'), ('Rx/PT1S')) x (text);

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

select * from finish();
rollback;

-- bpm_core.now and new_id; the clock of the test kit.
begin;
select plan(14);

select ok(bpm_core.now() > now(), 'the engine''s clock is the wall clock, not the start of the transaction');
select ok(bpm_core.now() between clock_timestamp() - interval '1 second' and clock_timestamp(), 'of the server');
select isnt(bpm_core.now(), bpm_core.now(), 'it runs within a transaction');

select is((select count(distinct bpm_core.new_id()) from generate_series(1, 10000)), 10000::bigint, 'ids are unique');
select is_empty($$select i from (select bpm_core.new_id()::text as i from generate_series(1, 1000)) x
                   where i !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'$$, 'version 7, variant 2');
select is_empty(
  $$select i from (select bpm_core.new_id()::text as i, clock_timestamp() as at from generate_series(1, 1000)) x
     where abs(('x' || lpad(left(replace(i, '-', ''), 12), 16, '0'))::bit(64)::bigint - extract(epoch from x.at) * 1000) > 1000$$,
  'they begin with the time in milliseconds');

select is_empty(
  $$select a from (select x.i as a, lead(x.i, 50) over (order by x.n) as b from (select n, bpm_core.new_id() as i from generate_series(1, 5000) n) x) y where y.b < y.a$$,
  'ids drawn fifty draws later sort later');

-- The kit
select bpm.advance_clock('3 days') - clock_timestamp() as ahead \gset
select ok(:'ahead'::interval between interval '2 days 23:59:59' and interval '3 days', 'advance_clock moves it on');
select bpm.advance_clock('-1 day') - clock_timestamp() as ahead \gset
select ok(:'ahead'::interval between interval '1 day 23:59:59' and interval '2 days', 'and back');
select bpm.set_clock('2040-05-06 07:08:09+00') as clock \gset
select ok(:'clock'::timestamptz between '2040-05-06 07:08:09+00' and '2040-05-06 07:08:10+00', 'set_clock sets it');
select ok(to_regclass('bpm_core.history_event_y2040m05') is not null, 'history of that month has a place');
select bpm.deploy_bpmn(test.linear('line', 'a'));
select is(test.standing(test.start('line')), '{a Waiting}', 'the engine works at that time');
select is((select date_trunc('hour', h.at at time zone 'UTC') from bpm.history h limit 1), '2040-05-06 07:00'::timestamp, 'and writes it down');
select ok(abs(extract(epoch from bpm.reset_clock() - clock_timestamp())) < 1, 'reset_clock puts it back');

select * from finish();
rollback;

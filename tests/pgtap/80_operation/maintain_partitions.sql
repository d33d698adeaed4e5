-- bpm.maintain_partitions: months of history ahead, made once each.
begin;
select plan(13);

-- The database may have been made last month.
select test.months_as_installed() \g /dev/null
create function pg_temp.month(p_ahead integer) returns text language sql as $$
  select 'history_event_' || to_char((bpm_core.now() at time zone 'UTC') + make_interval(months => p_ahead), '"y"YYYY"m"MM') $$;
select is((select count(*)::integer from bpm.maintain_partitions()), 26, 'last month, this month, and two years');
select is_empty('select * from bpm.maintain_partitions() where action <> ''Present''', 'the installer made them all');
select results_eq('select partition, action from bpm.maintain_partitions(25) where action = ''Created''',
  format('values (%L, ''Created'')', pg_temp.month(25)), 'one month more is one table');
select is_empty('select * from bpm.maintain_partitions(25) where action <> ''Present''', 'and only once');
select is(bpm_core.months_ahead(), 25, 'months_ahead counts them');
select format('drop table bpm_core.%I', pg_temp.month(5)) \gexec
select is(bpm_core.months_ahead(), 4, 'to the first gap');
select is((select p.action from bpm.maintain_partitions() p where p.partition = pg_temp.month(5)), 'Created', 'a gap is filled');

select bpm.deploy_bpmn(test.linear('line', 'a')) \g /dev/null
select bpm.set_clock((date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC' - interval '1 minute') \g /dev/null
select test.start('line') as p \gset
select bpm.advance_clock('2 minutes') \g /dev/null
select test.complete_next('a') \g /dev/null
select results_eq('select distinct tableoid::regclass::text from bpm_core.history_event order by 1',
  format('values (%L), (%L)', 'bpm_core.' || pg_temp.month(-1), 'bpm_core.' || pg_temp.month(0)), 'an instance may live through the turn of a month');
select is(test.broken(), '{}', 'and nothing is broken');

select throws_ok('select bpm.maintain_partitions(0)', 'BP422', null, 'months out of range');
select throws_ok('select bpm.maintain_partitions(121)', 'BP422', null, 'months out of range');
select throws_ok('select bpm.maintain_partitions(null)', 'BP422', null, 'no months');
select bpm.create_tenant('A', 'acme') \g /dev/null
select throws_ok('select bpm.maintain_partitions(p_tenant_id => ''acme'')', 'BP403', null, 'partitions belong to no single tenant');

select * from finish();
rollback;

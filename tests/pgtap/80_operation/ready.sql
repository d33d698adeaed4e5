-- bpm.ready: what is fit, and what somebody should look at.
begin;
select plan(25);

-- The database may have been made last month.
select test.months_as_installed() \g /dev/null
create function pg_temp.check(p_name text) returns jsonb language sql as $$
  select c.item from jsonb_array_elements(bpm.ready() -> 'checks') c(item) where c.item ->> 'name' = p_name $$;
create function pg_temp.ok(p_name text) returns boolean language sql as $$ select (pg_temp.check(p_name) ->> 'ok')::boolean $$;

select is((bpm.ready() ->> 'ready')::boolean, true, 'a fresh database is ready');
select set_eq($$select c.item ->> 'name' from jsonb_array_elements(bpm.ready() -> 'checks') c(item)$$,
  array['schema', 'history_partitions', 'clock', 'settings', 'vacuum_horizon', 'ready_tasks', 'tick', 'dead_letters', 'incidents', 'unknown_commands', 'waiting_events', 'destinations', 'subscribers', 'retention'],
  'all checks are there');
select is_empty($$select c.item from jsonb_array_elements(bpm.ready() -> 'checks') c(item)
                   where not (c.item ?& '{name,ok,required,detail}'::text[])$$, 'each with name, ok, required and detail');
select is(pg_temp.check('schema') -> 'detail' ->> 'api_highest', '1', 'the interface served is shown');

-- Partitions
select ok(pg_temp.ok('history_partitions'), 'partitions reach far enough');
select is((pg_temp.check('history_partitions') #>> '{detail,months_ahead}')::integer, 24, 'two years');
savepoint before;
select bpm_core.move_clock(interval '0') \g /dev/null
update bpm_core.test_clock set ahead = date_trunc('month', now()) + interval '22 months 5 days' - now();
select ok(not pg_temp.ok('history_partitions'), 'two months ahead is too little');
select is((bpm.ready() ->> 'ready')::boolean, true, 'which is a warning');
update bpm_core.test_clock set ahead = interval '5 years';
select is((bpm.ready() ->> 'ready')::boolean, false, 'without a partition for this month the database is not ready');
rollback to before;

-- Clock and settings
select ok(pg_temp.ok('clock'), 'the clock is the server''s');
select bpm.advance_clock('1 hour') \g /dev/null
select ok(not pg_temp.ok('clock'), 'a clock that was set is seen');
select bpm.reset_clock() \g /dev/null
select ok(pg_temp.ok('settings'), 'settings are in order');
insert into bpm_core.setting values ('engine.loop_budget', '"many"', now(), 'somebody');
select is(pg_temp.check('settings') -> 'ok', 'false'::jsonb, 'a setting of the wrong kind is seen');
select ok((pg_temp.check('settings') -> 'detail') ? 'engine.loop_budget', 'and named');
delete from bpm_core.setting;

-- What waits
select bpm.deploy_bpmn(test.linear('line', 'a')) \g /dev/null
select test.start('line') as p \gset
select ok(pg_temp.ok('ready_tasks') and pg_temp.ok('tick'), 'a task ready since now is fine');
select bpm.advance_clock('20 minutes') \g /dev/null
select ok(not pg_temp.ok('ready_tasks'), 'a task nobody takes is not');
select bpm.claim_tasks('w', '{a}') \g /dev/null
select ok(pg_temp.ok('ready_tasks'), 'taken');
select bpm.advance_clock('20 minutes') \g /dev/null
select ok(not pg_temp.ok('tick'), 'a lease that ran out and nobody reaps is seen');
select bpm.run_until_idle() \g /dev/null
select bpm.advance_clock('20 minutes') \g /dev/null
select test.fail_next('a', false) \g /dev/null
select is(pg_temp.check('dead_letters') #> '{detail,open}', '1'::jsonb, 'dead letters are counted');
select is(pg_temp.check('incidents') #> '{detail,open}', '1'::jsonb, 'incidents, too');
select ok(not pg_temp.ok('dead_letters') and not pg_temp.ok('incidents'), 'both are warnings');
select throws_ok('select bpm.ready(''other'')', 'BP403', null, 'a tenant that is not granted');

-- Retention
select ok(pg_temp.ok('retention'), 'nothing is to be removed');
select bpm.set_setting('retention.instance_days', '30') \g /dev/null
select bpm.advance_clock('8 days') \g /dev/null
select is(pg_temp.check('retention') -> 'detail' -> 'overdue', '["instances"]', 'nobody has removed anything for a week');
select from bpm.maintain_tenant();
select ok(pg_temp.ok('retention'), 'somebody has');

select * from finish();
rollback;

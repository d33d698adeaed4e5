-- bpm.metrics: what is open, counted along small indexes.
begin;
select plan(14);

select test.deploy_everything();
select bpm.deploy_bpmn(test.linear('line', 'x', 'y'));
create function pg_temp.m(variadic p_path text[]) returns text language sql as $$ select bpm.metrics() #>> p_path $$;
select is(pg_temp.m('tasks', 'ready'), '{}', 'nothing is ready in an empty house');
select is((pg_temp.m('tasks', 'oldest_ready_seconds'))::numeric, 0::numeric, 'nor waiting');

select count(test.start('line')) from generate_series(1, 3);
select test.complete_next('x');
select is(bpm.metrics() #> '{tasks,ready}', '{"x": 2, "y": 1}'::jsonb, 'ready tasks are counted by type');
select bpm.claim_tasks('w', '{y}');
select is(pg_temp.m('tasks', 'executing'), '1', 'tasks in hand');
select test.start('everything', '{"amount": 1200}', 'A') as a \gset
select test.start('everything', '{"amount": 1}', 'B') as b \gset
select test.complete_next('reserve'); select test.complete_next('reserve');
select is(pg_temp.m('approvals', 'pending'), '1', 'approvals asked for');
select is(pg_temp.m('commands', 'pending'), '1', 'commands to send');
select is(pg_temp.m('timers', 'scheduled'), '1', 'timers');
select is(pg_temp.m('timers', 'due'), '0', 'none of them due');
select bpm.advance_clock('2 hours');
select is(pg_temp.m('timers', 'due'), '1', 'then due');
select ok(pg_temp.m('tasks', 'oldest_ready_seconds')::numeric between 7200 and 7300, 'and how long the oldest task has waited');
select test.deliver_next('Unknown', null);
select is(pg_temp.m('commands', 'unknown'), '1', 'commands nobody knows about');
select bpm.correlate_message('nobody', 'waits');
select is(pg_temp.m('messages', 'buffered'), '1', 'messages that wait');
select ok((bpm.metrics() -> 'rows') ? 'history_event', 'table sizes are estimated for the tenant without a name');
select throws_ok('select bpm.metrics(''other'')', 'BP403', null, 'a tenant that is not granted');

select * from finish();
rollback;

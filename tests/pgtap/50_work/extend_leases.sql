-- bpm.extend_leases: the heartbeat.
begin;
select plan(23);
select test.deploy('job', test.service('work', 'bpm:lease="PT20S"') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset

select test.start('job') as a, test.start('job') as b \gset
select c.tasks from bpm.claim_tasks_at('w', '{work}', 2) c \gset
select bpm.advance_clock(interval '15 seconds') is not null as moved \gset
select bpm_core.now() as before \gset
select e.* from bpm.extend_leases(jsonb_build_array(test.items(:'tasks') -> 0)) e \gset e_
select is(:'e_item' || :'e_task_id' || :'e_outcome', '1' || (:'tasks'::jsonb #>> '{0,task_id}') || 'Extended', 'extended');
select ok(:'e_lease_until'::timestamptz between :'before'::timestamptz + interval '20 seconds' and bpm_core.now() + interval '20 seconds', 'by the lease of its task, from now on');
select is((select t.lease_until from bpm.task t where t.task_id = :'e_task_id'), :'e_lease_until'::timestamptz, 'as its row says');
select is((select t.attempt || ' ' || t.fencing_token from bpm.task t where t.task_id = :'e_task_id'), '1 1', 'attempt and fence stay');
select is(test.history(:'a'), '{"InstanceStarted 1"}', 'no history is written');
select e.lease_until as longer from bpm.extend_leases(jsonb_build_array(test.items(:'tasks') -> 0), interval '10 minutes') e \gset
select ok(:'longer'::timestamptz > bpm_core.now() + interval '9 minutes', 'by a lease of one''s own');
select is((select e.lease_until from bpm.extend_leases(jsonb_build_array(test.items(:'tasks') -> 0), interval '1 second') e), :'longer'::timestamptz, 'a lease is never shortened');

-- The other one was not extended
select bpm.advance_clock(interval '6 seconds') is not null as moved \gset
select is((select array_agg(e.outcome::text order by e.item) from bpm.extend_leases(test.items(:'tasks')) e), '{Extended,LeaseLost}', 'a lease that ran out is lost, whether or not it was noticed');
select is(test.tick('leases'), 1, 'the reaper takes that one only');
select is((select array_agg(e.outcome::text order by e.item) from bpm.extend_leases(test.items(:'tasks')) e), '{Extended,LeaseLost}', 'and lost it stays');
select is((select array_agg(e.outcome::text || (e.lease_until is not null) order by e.item) from bpm.extend_leases(
             test.items(:'tasks') || '[{"task_id": "00000000-0000-7000-8000-000000000001", "fencing_token": 1}]'::jsonb) e), '{Extendedtrue,LeaseLostfalse,NotFoundfalse}', 'a task that is not there');
select is((select e.outcome::text from bpm.extend_leases(jsonb_build_array(jsonb_set(test.items(:'tasks') -> 0, '{fencing_token}', '2'))) e), 'LeaseLost', 'a fence that was never given');
select bpm.advance_clock(interval '1 minute') is not null as moved \gset
select c.tasks as again from bpm.claim_tasks_at('w', '{work}', 1) c \gset
select is((select array_agg(e.outcome::text order by e.item) from bpm.extend_leases(jsonb_build_array(test.items(:'tasks') -> 1, test.items(:'again') -> 0)) e), '{LeaseLost,Extended}', 'the old fence and the new one in one call (A-02)');
select bpm.cancel_process(:'a') is not null as cancelled \gset
select is((select e.outcome::text from bpm.extend_leases(jsonb_build_array(test.items(:'tasks') -> 0)) e), 'Cancelled', 'a cancelled task says so');
select bpm.complete_tasks(test.items(:'again')) is not null as done \gset
select is((select e.outcome::text from bpm.extend_leases(test.items(:'again')) e), 'LeaseLost', 'a completed one has no lease');

-- Out of range
select test.start('job') as bad \gset
select c.tasks from bpm.claim_tasks_at('w', '{work}') c \gset bad_
select t.lease_until as bad_until from bpm.task t where t.process_instance_id = :'bad' \gset
select throws_ok(format('select * from bpm.extend_leases(%L, interval ''0'')', test.items(:'bad_tasks')), 'BP422', null, 'no lease');
select throws_ok(format('select * from bpm.extend_leases(%L, interval ''2 days'')', test.items(:'bad_tasks')), 'BP422', null, 'a lease over a day');
select throws_ok(format('select * from bpm.extend_leases(%L)', test.items(:'bad_tasks', '{"variables": {}}')), 'BP400', null, 'an unknown key');
select throws_ok($$select * from bpm.extend_leases('{}')$$, 'BP400', null, 'no array');
select throws_ok($$select * from bpm.extend_leases((select jsonb_agg('{"task_id": "00000000-0000-7000-8000-000000000001", "fencing_token": 1}'::jsonb) from generate_series(1, 1001)))$$, 'BP429', null, '1001 items');
select throws_ok($$select * from bpm.extend_leases('[]', null, 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is((select t.lease_until from bpm.task t where t.process_instance_id = :'bad'), :'bad_until'::timestamptz, 'nothing was changed by them');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

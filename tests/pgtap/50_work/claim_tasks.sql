-- bpm.claim_tasks: hands out ready tasks, each with a lease and a fencing token.
begin;
select plan(45);
select test.deploy('order',
  test.service('pack', 'bpm:lease="PT45S"') || test.service('rush', 'bpm:priority="high"') || test.service('later', 'bpm:priority="low"')
  || '<userTask id="look"/><parallelGateway id="fork"/><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>pack', 'fork>rush', 'fork>later', 'fork>look', 'pack>end', 'rush>end', 'later>end', 'look>end')) \gset
select bpm.deploy_bpmn(test.linear('small', 'pack')) is not null as deployed \gset

-- One task
select is((select count(*) from bpm.claim_tasks('w', '{pack}')), 0::bigint, 'nothing ready: no row');
select test.start('order', '{"amount": 5}', 'B-1') as one \gset
select bpm_core.now() as before \gset
select c.* from bpm.claim_tasks('w1', '{pack}') c \gset c_
select is(:'c_process_instance_id' || :'c_business_key' || :'c_node_id' || :'c_task_type', :'one' || 'B-1packpack', 'the row tells whose task it is');
select is(:'c_workflow_instance_id'::uuid, test.workflow(:'one'), 'and of which workflow instance');
select is(:'c_variables'::jsonb, '{"amount": 5}'::jsonb, 'with the variables');
select is(:'c_attempt'::int || ' ' || :'c_fencing_token', '1 1', 'the first attempt under the first fence');
select ok(:'c_lease_until'::timestamptz between :'before'::timestamptz + interval '45 seconds' and bpm_core.now() + interval '45 seconds', 'leased as long as the node says');
select is((select t.state || ' ' || t.worker_id || ' ' || t.attempt || ' ' || t.fencing_token from bpm.task t where t.task_id = :'c_task_id'), 'Executing w1 1 1', 'its row says so');
select is((select t.lease_until from bpm.task t where t.task_id = :'c_task_id'), :'c_lease_until'::timestamptz, 'until the same time');
select is((select e.state || ' ' || e.worker_id from bpm.execution e where e.task_id = :'c_task_id'), 'Running w1', 'the attempt shows as running');
select is(test.history(:'one', 'Task%'), '{}', 'a claim writes no history');
select is((select count(*) from bpm.claim_tasks('w2', '{pack}', 10)), 0::bigint, 'a leased task is not handed out again');
select is((select count(*) from bpm.claim_tasks('w2', '{other}', 10)), 0::bigint, 'nor one of another type');

-- Lease and limit
select count(test.start('small')) as started from generate_series(1, 5) \gset
select is((select count(*) from bpm.claim_tasks('w1', '{pack}', 2)), 2::bigint, 'at most as many as asked for');
select is((select bool_and(c.lease_until between bpm_core.now() + interval '7 minutes' - interval '5 seconds' and bpm_core.now() + interval '7 minutes')
             from bpm.claim_tasks('w1', '{pack}', 2, interval '7 minutes') c), true, 'a lease of one''s own');
select c.lease_until as default_until from bpm.claim_tasks('w1', '{pack}', 5) c \gset
select ok(:'default_until'::timestamptz between bpm_core.now() + interval '29 seconds' and bpm_core.now() + interval '30 seconds', 'the task version''s lease otherwise');

-- Order: priority first, then age
savepoint ordered;
select count(test.start('order', jsonb_build_object('n', n))) as started from generate_series(1, 2) n \gset
select is((select array_agg(c.node_id || coalesce(' ' || (c.variables ->> 'n'), '') order by ordinality)
             from bpm.claim_tasks('w', '{later,pack,rush}', 20) with ordinality as c(a, b, d, e, node_id, f, g, h, i, variables, headers, ordinality)),
          '{rush,"rush 1","rush 2","pack 1","pack 2",later,"later 1","later 2"}', 'high priority first, the oldest first within one, whatever the order of the types');
rollback to ordered;
select count(test.start('order', jsonb_build_object('n', n))) as started from generate_series(1, 2) n \gset
select is((select array_agg(c.node_id || coalesce(' ' || (c.variables ->> 'n'), '')) from bpm.claim_tasks('w', '{later,pack,rush}', 4) c),
          '{rush,"rush 1","rush 2","pack 1"}', 'a limit takes them from the head');
select is((select array_agg(c.node_id || ' ' || (c.variables ->> 'n')) from bpm.claim_tasks('w', '{later,pack}', 1) c), '{"pack 2"}', 'the next claim goes on from there');
select is((select count(*) from bpm.claim_tasks('w', '{rush,later,pack,none}', 1000)), 3::bigint, 'a claim of everything gets the rest');

-- Not yet due
select test.start('small') as waiting \gset
select test.fail_next('pack') is not null as failed \gset
select t.task_id as retried from bpm.task t where t.process_instance_id = :'waiting' \gset
update bpm_core.task_instance t set available_at = bpm_core.now() + interval '10 seconds' where t.id = :'retried';
select is((select count(*) from bpm.claim_tasks('w', '{pack}')), 0::bigint, 'a task is not handed out before it is due');
select is(bpm.next_due('{pack}'), (select t.available_at from bpm.task t where t.task_id = :'retried'), 'next_due tells when it is');
select bpm.advance_clock(interval '10 seconds') is not null as moved \gset
select is((select c.attempt || ' ' || c.fencing_token from bpm.claim_tasks('w', '{pack}') c where c.task_id = :'retried'), '2 2', 'then it is, with the next attempt and a higher fence');

-- A fence only grows
select bpm.advance_clock(interval '1 day') is not null as moved \gset
select test.tick('leases') > 0 as reaped \gset
select bpm.advance_clock(interval '1 hour') is not null as moved \gset
select is((select c.attempt || ' ' || c.fencing_token from bpm.claim_tasks('w', '{pack}', 100) c where c.task_id = :'retried'), '3 3', 'after a lease that ran out, too');
select is((select c.fencing_token from bpm.claim_tasks('w', '{rush}', 1) c), 2::bigint, 'each task has its own fence');

-- People's tasks
select throws_ok($$select * from bpm.claim_tasks('w', '{pack,bpm:user}')$$, 'BP422', null, 'tasks for people are not claimed by workers');
select is((select count(*) from bpm.task t where t.task_type = 'bpm:user' and t.state <> 'Ready'), 0::bigint, 'and none was');

-- Out of range
select throws_ok($$select * from bpm.claim_tasks(null, '{pack}')$$, 'BP422', null, 'no worker');
select throws_ok($$select * from bpm.claim_tasks('  ', '{pack}')$$, 'BP422', null, 'a blank worker');
select throws_ok($$select * from bpm.claim_tasks(repeat('w', 201), '{pack}')$$, 'BP422', null, 'an over-long worker');
select throws_ok($$select * from bpm.claim_tasks('w', null)$$, 'BP422', null, 'no types');
select throws_ok($$select * from bpm.claim_tasks('w', '{}')$$, 'BP422', null, 'empty types');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack,null}')$$, 'BP422', null, 'a type that is null');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack,rush,pack}')$$, 'BP422', null, 'a type named twice');
select throws_ok($$select * from bpm.claim_tasks('w', array(select 't' || n from generate_series(1, 101) n))$$, 'BP422', null, 'more than 100 types');
select is(kit.raised($$select * from bpm.claim_tasks('w', '{pack}', 0)$$) -> 'detail', '{"limit": 0}'::jsonb, 'limit 0: the answer names it');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack}', 0)$$, 'BP422', null, 'limit 0');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack}', 1001)$$, 'BP422', null, 'limit 1001');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack}', null)$$, 'BP422', null, 'no limit');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack}', 1, interval '999 milliseconds')$$, 'BP422', null, 'a lease under a second');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack}', 1, interval '1 day 1 second')$$, 'BP422', null, 'a lease over a day');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack}', 1, interval '-1 minute')$$, 'BP422', null, 'a lease below nothing');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack}', p_request_id => repeat('r', 301))$$, 'BP422', null, 'an over-long request id');
select throws_ok($$select * from bpm.claim_tasks('w', '{pack}', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is((select count(*) from bpm.claim_tasks('w', '{later}', 1000, interval '1 day')), 3::bigint, 'the bounds themselves are taken');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

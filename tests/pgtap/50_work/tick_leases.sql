-- The reaper: leases that ran out are failures of kind LeaseExpired.
begin;
select plan(24);
select test.deploy('job', test.service('work', 'bpm:lease="PT30S" bpm:retries="2"') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset

-- Worker A is killed, B completes, A wakes up (A-01)
select test.start('job') as a \gset
select c.* from bpm.claim_tasks('A', '{work}') c \gset a_
select bpm.advance_clock(interval '29 seconds') is not null as moved \gset
select is(test.tick('leases'), 0, 'a lease that still runs is left alone');
select bpm.advance_clock(interval '2 seconds') is not null as moved \gset
select bpm_core.now() as before \gset
select is(test.tick('leases'), 1, 'then it is taken away');
select is(test.tick('leases'), 0, 'once');
select is((select t.state || ' ' || t.attempt || (t.worker_id is null) from bpm.task t where t.task_id = :'a_task_id'), 'Ready 1true', 'the task is ready again');
select ok((select t.available_at between :'before'::timestamptz + interval '1 second' and bpm_core.now() + interval '1.1 seconds' from bpm.task t where t.task_id = :'a_task_id'), 'after a backoff');
select is((select concat_ws(' ', e.attempt, e.state, e.outcome, e.worker_id, e.error ->> 'kind') from bpm.execution e where e.task_id = :'a_task_id'), '1 Expired Retrying A LeaseExpired', 'the attempt expired');
select is((select h.actor || ' ' || (h.detail ->> 'expired') from bpm.get_history(:'a') h where h.kind = 'TaskRetried'), 'A true', 'history tells whose lease');
select bpm.advance_clock(interval '2 seconds') is not null as moved \gset
select c.* from bpm.claim_tasks('B', '{work}') c \gset b_
select is(:'b_task_id' || :'b_attempt' || :'b_fencing_token', :'a_task_id' || '22', 'B gets the same task under a higher fence');
select throws_ok(format('select * from bpm.complete_task(%L, %s)', :'a_task_id', :a_fencing_token), 'BP410', null, 'A''s answer is refused while B works');
select bpm.complete_task(:'b_task_id', :b_fencing_token, '{"by": "B"}') is not null as done \gset
select throws_ok(format($$select * from bpm.complete_task(%L, %s, '{"by": "A"}')$$, :'a_task_id', :a_fencing_token), 'BP410', null, 'and after B has completed');
select is((select f.outcome::text from bpm.fail_tasks(jsonb_build_array(jsonb_build_object('task_id', :'a_task_id', 'fencing_token', 1))) f), 'LeaseLost', 'so is its failure');
select is(bpm.get_variables(:'a') || jsonb_build_object('completions', (select count(*) from bpm.get_history(:'a') h where h.kind = 'TaskCompleted')), '{"by": "B", "completions": 1}'::jsonb, 'one completion');

-- The same worker name under both leases (A-02)
select test.start('job') as c \gset
select c.* from bpm.claim_tasks('W', '{work}') c \gset old_
select bpm.advance_clock(interval '31 seconds') is not null as moved \gset
select test.tick('leases') as reaped \gset
select bpm.advance_clock(interval '2 seconds') is not null as moved \gset
select c.* from bpm.claim_tasks('W', '{work}') c \gset new_
select throws_ok(format('select * from bpm.complete_task(%L, %s)', :'old_task_id', :old_fencing_token), 'BP410', null, 'the old lease of the same name is refused by its fence');
select is((select e.outcome::text from bpm.extend_leases(jsonb_build_array(jsonb_build_object('task_id', :'old_task_id', 'fencing_token', :old_fencing_token))) e), 'LeaseLost', 'in a heartbeat, too');

-- A worker that never answers uses up its attempts (C33)
select bpm.advance_clock(interval '31 seconds') is not null as moved \gset
select is(test.tick('leases'), 1, 'the second and last attempt expires');
select is((select t.state from bpm.task t where t.process_instance_id = :'c') || test.standing(:'c')::text || test.incidents(:'c')::text, 'Failed{"work Failed"}{"AttemptsExhausted work"}', 'task and token are Failed, with an incident');
select is((select concat_ws(' ', d.kind, d.state, d.error ->> 'kind') from bpm.dead_letter d where d.process_instance_id = :'c'), 'Task Open LeaseExpired', 'and a dead letter');
select is((select e.state || ' ' || e.outcome from bpm.execution e where e.task_id = :'old_task_id' and e.attempt = 2), 'Expired Failed', 'the attempt says so');

-- Many at once, a batch at a time, oldest first
select count(test.start('job', jsonb_build_object('n', n))) as started from generate_series(1, 30) n \gset
select count(c.*) as claimed from generate_series(1, 30) n cross join lateral bpm.claim_tasks('w', '{work}', 1, interval '1 minute' + n * interval '1 second') c \gset
select is(:claimed, 30, '30 leases');
select bpm.advance_clock(interval '2 minutes') is not null as moved \gset
select is(test.tick('leases', 10), 10, 'at most as many as asked for');
select is((select max(e.lease_until) from bpm.execution e where e.state = 'Expired' and e.attempt = 1 and e.claimed_at > bpm_core.now() - interval '2 minutes 30 seconds')
          < (select min(t.lease_until) from bpm.task t where t.state = 'Executing'), true, 'the oldest first');
select is(test.tick('leases', 10) + test.tick('leases', 10), 20, 'then the rest');
select is(test.tick('leases', 10), 0, 'each once');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

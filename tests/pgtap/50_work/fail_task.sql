-- bpm.fail_task: the single form of fail_tasks.
begin;
select plan(17);
select bpm.deploy_bpmn(test.linear('job', 'work')) is not null as deployed \gset

select test.start('job') as a \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select format('select * from bpm.fail_task(%L, %s', :'task_id', :fencing_token) as call \gset
select bpm_core.now() as before \gset
select f.* from bpm.fail_task(:'task_id', :fencing_token, '{"message": "busy"}', p_retry_in => interval '1 hour 30 minutes') f \gset f_
select is(:'f_task_id' || :'f_outcome', :'task_id' || 'Retrying', 'retried');
select ok(:'f_next_attempt_at'::timestamptz between :'before'::timestamptz + interval '90 minutes' and bpm_core.now() + interval '90 minutes', 'at the time asked for');
select is((select f.outcome::text from bpm.fail_task(:'task_id', :fencing_token, '{"message": "busy"}') f), 'Retrying', 'an unchanged repeat gets the first answer');
select throws_ok(:'call' || $$, '"other"')$$, 'BP409', null, 'another error is a conflict');
select throws_ok(:'call' || $$ + 1, '"busy"')$$, 'BP410', null, 'a fence that was never given');

select bpm.advance_clock(interval '2 hours') is not null as moved \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select format('select * from bpm.fail_task(%L, %s', :'task_id', :fencing_token) as call \gset
select throws_ok(:'call' || $$, '"x"', p_retry_in => interval '-1 second')$$, 'BP400', null, 'a time before now');
select throws_ok(:'call' || $$, '"x"', p_retry_in => interval '366 days')$$, 'BP400', null, 'a time over a year');
select throws_ok($$select * from bpm.fail_task('00000000-0000-7000-8000-000000000001', 1, '"x"')$$, 'BP404', null, 'a task that is not there');
select throws_ok($$select * from bpm.fail_task(null, 1, '"x"')$$, 'BP400', null, 'no task');
select throws_ok(:'call' || $$, '"x"', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is((select f.outcome::text from bpm.fail_task(:'task_id', :fencing_token, null, false) f), 'Failed', 'not retryable: failed');
select is(test.incidents(:'a'), '{"AttemptsExhausted work"}', 'an incident');
select is((select f.outcome::text from bpm.fail_task(:'task_id', :fencing_token, null, null) f), 'Failed', 'repeated: the first answer');

select test.start('job') as b \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select is((select f.outcome::text from bpm.fail_task(:'task_id', :fencing_token, 'null', null) f), 'Retrying', 'retryable is the default, also for null');
select test.start('job') as c \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select bpm.complete_task(:'task_id', :fencing_token) is not null as done \gset
select throws_ok(format('select * from bpm.fail_task(%L, %s, ''"x"'')', :'task_id', :fencing_token), 'BP409', null, 'a task that was completed');
select test.start('job') as d \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select bpm.cancel_process(:'d') is not null as cancelled \gset
select throws_ok(format('select * from bpm.fail_task(%L, %s, ''"x"'')', :'task_id', :fencing_token), 'BP409', null, 'a task that was cancelled');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

-- bpm.complete_task: the single form of complete_tasks; outcomes are errors here.
begin;
select plan(23);
select bpm.deploy_bpmn(test.linear('one', 'work')) is not null as deployed \gset

select test.start('one', '{"a": 1}') as a \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select format('select * from bpm.complete_task(%L, %s', :'task_id', :fencing_token) as call \gset
select throws_ok(:'call' || ' + 1)', 'BP410', null, 'a fence that is not the last one');
select is(kit.raised(:'call' || ' + 1)') - 'message',
          jsonb_build_object('code', 'BP410', 'detail', jsonb_build_object('id', :'task_id', 'outcome', 'LeaseLost'),
                             'hint', 'Do not apply the work; claim again. Extend the lease in time for long work.'), 'says whose, why, and what to do');
select throws_ok(:'call' || $$, '[1]')$$, 'BP422', null, 'variables that are no object');
select is(kit.raised(:'call' || $$, '{"a": "__odd:1"}')$$) ->> 'message', 'Variable a starts with a reserved prefix but is no wire form.', 'the reason is told');
select throws_ok(:'call' || $$, '{"a": "__odd:1"}')$$, 'BP422', null, 'a value that forges a reserved prefix');
select throws_ok($$select * from bpm.complete_task('00000000-0000-7000-8000-000000000001', 1)$$, 'BP404', null, 'a task that is not there');
select throws_ok($$select * from bpm.complete_task(null, 1)$$, 'BP400', null, 'no task');
select throws_ok(format('select * from bpm.complete_task(%L, null)', :'task_id'), 'BP400', null, 'no fence');
select throws_ok(:'call' || $$, p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is((select t.state from bpm.task t where t.task_id = :'task_id'), 'Executing', 'nothing was changed by them');

select c.* from bpm.complete_task(:'task_id', :fencing_token, '{"b": 2}', '"done"') c \gset d_
select is(:'d_task_id' || :'d_outcome' || :'d_instance_status', :'task_id' || 'CompletedCompleted', 'completed');
select is((select r.output from bpm_core.result r where r.task_instance_id = :'task_id'), '"done"'::jsonb, 'with its result');
select is(bpm.get_variables(:'a'), '{"a": 1, "b": 2}'::jsonb, 'and its variables');
select is((select c.outcome::text from bpm.complete_task(:'task_id', :fencing_token, '{"b": 2}', '"done"') c), 'Completed', 'an unchanged repeat gets the first answer');
select throws_ok(:'call' || $$, '{"b": 3}', '"done"')$$, 'BP409', null, 'another one is a conflict');
select throws_ok(:'call' || $$, '{"b": 2}')$$, 'BP409', null, 'so is one without the result');

select test.start('one') as b \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select lives_ok(format('select * from bpm.complete_task(%L, %s, null)', :'task_id', :fencing_token), 'null variables are none');

select test.start('one') as c \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select bpm.cancel_process(:'c') is not null as cancelled \gset
select throws_ok(format('select * from bpm.complete_task(%L, %s)', :'task_id', :fencing_token), 'BP409', null, 'a cancelled task');
select is(kit.raised(format('select * from bpm.complete_task(%L, %s)', :'task_id', :fencing_token)) #>> '{detail,outcome}', 'Cancelled', 'tells that it is cancelled');

select test.start('one') as d \gset
select c.* from bpm.claim_tasks('w', '{work}') c \gset
select bpm.fail_task(:'task_id', :fencing_token, '"no"', false) is not null as failed \gset
select is(kit.raised(format('select * from bpm.complete_task(%L, %s)', :'task_id', :fencing_token)) #>> '{detail,outcome}', 'WrongState', 'one that failed for good');

select test.start('one') as e \gset
select c.* from bpm.claim_tasks('w', '{work}', p_lease => interval '5 seconds') c \gset
select bpm.advance_clock(interval '5 seconds') is not null as moved \gset
select throws_ok(format('select * from bpm.complete_task(%L, %s)', :'task_id', :fencing_token), 'BP410', null, 'a lease that ran out, whether or not it was noticed');
select is((select t.state from bpm.task t where t.task_id = :'task_id'), 'Executing', 'changes nothing');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

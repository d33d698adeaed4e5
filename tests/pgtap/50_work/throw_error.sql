-- bpm.throw_error: a BPMN error ends the task; a boundary takes the token, or it is an incident.
begin;
select plan(38);
select test.deploy('pay',
  test.service('charge') || test.timer('slow', '<timeDuration>PT1H</timeDuration>', 'charge', false) || test.service('remind')
  || '<boundaryEvent id="declined" attachedToRef="charge"><errorEventDefinition errorRef="e_declined"/></boundaryEvent>' || test.service('call')
  || '<boundaryEvent id="any" attachedToRef="charge"><errorEventDefinition/></boundaryEvent><endEvent id="broken"/>'
  || '<endEvent id="end"/>'
  || test.flows('start>charge', 'charge>end', 'declined>call', 'call>end', 'any>broken', 'slow>remind', 'remind>end'),
  '<error id="e_declined" errorCode="card-declined"/>') \gset
select test.deploy('plain', test.service('bare') || '<endEvent id="end"/>'
  || '<boundaryEvent id="only" attachedToRef="bare"><errorEventDefinition errorRef="e"/></boundaryEvent>' || test.flows('start>bare', 'bare>end', 'only>end'),
  '<error id="e" errorCode="known"/>') \gset

-- Caught by its code
select test.start('pay', '{"amount": 5}') as a \gset
select c.* from bpm.claim_tasks('w', '{charge}') c \gset
select w.lock_version as before from bpm_core.workflow_instance w where w.id = test.workflow(:'a') \gset
select t.* from bpm.throw_error(:'task_id', :fencing_token, 'card-declined', 'no funds', '{"left": 3}') t \gset t_
select is(:'t_task_id' || :'t_outcome' || :'t_instance_status', :'task_id' || 'DoneRunning', 'caught');
select is(test.standing(:'a'), '{"call Waiting"}', 'the boundary of that code takes the token, before the one that catches all');
select is(bpm.get_variables(:'a'), '{"amount": 5, "left": 3}'::jsonb, 'its variables are patched');
select is((select t.state from bpm.task t where t.task_id = :'task_id'), 'Cancelled', 'the task is closed');
select is((select concat_ws(' ', e.state, e.outcome, e.error ->> 'code', e.error ->> 'message') from bpm.execution e where e.task_id = :'task_id'), 'Failed Done card-declined no funds', 'the attempt failed with the error');
select is(test.history(:'a', '%Error%') || test.history(:'a', 'Timer%'), '{"ErrorThrown 1","ErrorCaught 1","TimerStarted 1","TimerCancelled 1"}', 'thrown and caught; what else waited on the task is closed');
select is((select h.node_id || ' ' || (h.detail ->> 'host') || ' ' || (h.detail ->> 'code') from bpm.get_history(:'a') h where h.kind = 'ErrorCaught'), 'declined charge card-declined', 'history tells by which boundary');
select is(test.incidents(:'a'), '{}', 'no incident');
select is((select w.lock_version from bpm_core.workflow_instance w where w.id = test.workflow(:'a')), :before + 1, 'the instance is written once');

-- Repeats
select format('select * from bpm.throw_error(%L, %s', :'task_id', :fencing_token) as call \gset
select is((select t.outcome::text from bpm.throw_error(:'task_id', :fencing_token, 'card-declined', 'no funds', '{"left": 3}') t), 'Done', 'an unchanged repeat gets the first answer');
select throws_ok(:'call' || $$, 'other', 'no funds', '{"left": 3}')$$, 'BP409', null, 'another code is a conflict');
select throws_ok(:'call' || $$, 'card-declined', 'no limit', '{"left": 3}')$$, 'BP409', null, 'so is another message');
select throws_ok(:'call' || $$, 'card-declined', 'no funds', '{"left": 4}')$$, 'BP409', null, 'and other variables');
select throws_ok(format('select * from bpm.complete_task(%L, %s)', :'task_id', :fencing_token), 'BP409', null, 'completing it afterwards is refused');
select throws_ok(format('select * from bpm.fail_task(%L, %s, ''"x"'')', :'task_id', :fencing_token), 'BP409', null, 'so is failing it');
select is(test.history(:'a', 'Error%'), '{"ErrorThrown 1","ErrorCaught 1"}', 'nothing was written again');

-- Caught by the one that catches all
select test.start('pay') as b \gset
select is(test.throw_next('charge', 'anything') is not null, true, 'an error of another code');
select is(test.status(:'b') || ' ' || test.visits(:'b', 'broken'), 'Completed 1', 'is caught by the boundary without a code, whose end ends the instance');

-- Not caught
select test.start('plain', '{"v": 1}') as u \gset
select c.* from bpm.claim_tasks('w', '{bare}') c \gset
select t.* from bpm.throw_error(:'task_id', :fencing_token, 'unknown', 'who knows', '{"w": 2}') t \gset t_
select is(:'t_outcome' || :'t_instance_status', 'FailedRunning', 'not caught: failed; the instance stays Running');
select is(test.standing(:'u'), '{"bare Failed"}', 'the token stands where it threw');
select is(test.incidents(:'u'), '{"UncaughtError bare"}', 'an incident');
select is((select concat_ws(' ', d.kind, d.state, d.error ->> 'code', d.variables) from bpm.dead_letter d where d.process_instance_id = :'u'), 'Task Open unknown {"v": 1, "w": 2}', 'and a dead letter, with the variables as they are now');
select is((select t.outcome::text from bpm.throw_error(:'task_id', :fencing_token, 'unknown', 'who knows', '{"w": 2}') t), 'Failed', 'an unchanged repeat gets the first answer');
select is((select count(*) from bpm.incident), 1::bigint, 'and opens nothing');
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'u' \gset
select is(test.standing(:'u') || test.throw_next('bare', 'known')::text, array['bare Waiting', :'task_id'], 'resolved: the same task again, with a fresh attempt');
select is(test.status(:'u'), 'Completed', 'which may be caught now');

-- Refused
select test.start('plain') as r \gset
select c.* from bpm.claim_tasks('w', '{bare}', p_lease => interval '10 seconds') c \gset
select format('select * from bpm.throw_error(%L, %s', :'task_id', :fencing_token) as call \gset
select throws_ok(:'call' || ', null)', 'BP422', null, 'no code');
select throws_ok(:'call' || $$, ' ')$$, 'BP422', null, 'a blank code');
select throws_ok(:'call' || $$, repeat('e', 201))$$, 'BP422', null, 'an over-long code');
select throws_ok(:'call' || $$, 'known', null, '[]')$$, 'BP422', null, 'variables that are no object');
select throws_ok(:'call' || $$ + 1, 'known')$$, 'BP410', null, 'a fence that was never given');
select throws_ok($$select * from bpm.throw_error('00000000-0000-7000-8000-000000000001', 1, 'known')$$, 'BP404', null, 'a task that is not there');
select throws_ok($$select * from bpm.throw_error(null, 1, 'known')$$, 'BP404', null, 'no task');
select throws_ok(:'call' || $$, 'known', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select bpm.advance_clock(interval '11 seconds') is not null as moved \gset
select throws_ok(:'call' || $$, 'known')$$, 'BP410', null, 'a lease that ran out');
select is(test.standing(:'r') || (select t.state from bpm.task t where t.task_id = :'task_id'), array['bare Waiting', 'Executing'], 'nothing was changed by them');
select bpm.cancel_process(:'r') is not null as cancelled \gset
select throws_ok(:'call' || $$, 'known')$$, 'BP409', null, 'a task that was cancelled');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

-- bpm.throw_user_task_error: a person ends a user task with a BPMN error.
begin;
select plan(20);
select test.deploy('ask', '<userTask id="look" bpm:assignee="${owner}"/>' || test.timer('slow', '<timeDuration>PT1H</timeDuration>', 'look', false) || test.service('chase')
  || '<boundaryEvent id="odd" attachedToRef="look"><errorEventDefinition errorRef="e"/></boundaryEvent><endEvent id="end"/><endEvent id="strange"/><endEvent id="late"/>'
  || test.flows('start>look', 'look>end', 'odd>strange', 'slow>chase', 'chase>late'), '<error id="e" errorCode="odd"/>') \gset
select test.start('ask', '{"a": 1}') as a \gset
select t.task_id as look from bpm.task t where t.node_id = 'look' \gset

-- Refused
select throws_ok(format('select * from bpm.throw_user_task_error(%L, '' '')', :'look'), 'BP422', null, 'a code that is none');
select throws_ok(format('select * from bpm.throw_user_task_error(%L, ''odd'', p_variables => ''[1]'')', :'look'), 'BP422', null, 'variables that are no object');
select throws_ok($$select * from bpm.throw_user_task_error('00000000-0000-7000-8000-000000000001', 'odd')$$, 'BP404', null, 'a task that is not there');
select throws_ok(format('select * from bpm.throw_user_task_error(%L, ''odd'', p_tenant_id => ''nobody'')', :'look'), 'BP403', null, 'a tenant that is not ours');
select bpm.claim_user_task(:'look', 'ann') is not null as claimed \gset
select is(kit.raised(format('select * from bpm.throw_user_task_error(%L, ''odd'', p_actor => ''bob'')', :'look')) - 'message' - 'hint', '{"code": "BP409", "detail": {"claimed_by": "ann"}}'::jsonb, 'somebody else holds it');

-- Caught
select t.* from bpm.throw_user_task_error(:'look', 'odd', 'unreadable', '{"b": 2}', 'ann') t \gset t_
select is(:'t_task_id' || :'t_outcome' || :'t_instance_status', :'look' || 'DoneCompleted', 'caught by the boundary event of that code');
select is(test.history(:'a', '%Error%') || test.history(:'a', 'Timer%'), '{"ErrorThrown 1","ErrorCaught 1","TimerStarted 1","TimerCancelled 1"}', 'thrown and caught; what else waited on the task is closed');
select is(bpm.get_variables(:'a'), '{"a": 1, "b": 2}'::jsonb, 'its variables are patched');
select is((select concat_ws(' ', t.state, t.attempt, t.worker_id) from bpm_core.task_instance t where t.id = :'look'), 'Cancelled 1 ann', 'the task is closed, and tells by whom');
select is((select array_agg(e.action order by e.id) from bpm_core.audit_event e where e.aggregate_id = :'look'), '{ClaimUserTask,ThrowUserTaskError}', 'it is audited');

-- Repeats
select is((select t.outcome::text from bpm.throw_user_task_error(:'look', 'odd', 'unreadable', '{"b": 2}', 'ann') t), 'Done', 'an unchanged repeat by the same person gets the first answer');
select throws_ok(format('select * from bpm.throw_user_task_error(%L, ''other'', ''unreadable'', ''{"b": 2}'', ''ann'')', :'look'), 'BP409', null, 'another code is too late');
select throws_ok(format('select * from bpm.throw_user_task_error(%L, ''odd'', ''unreadable'', ''{"b": 2}'', ''bob'')', :'look'), 'BP409', null, 'and so is another person');
select throws_ok(format('select * from bpm.complete_user_task(%L)', :'look'), 'BP409', null, 'completing it afterwards is refused');

-- Not caught: an incident, which gives the task back
select test.start('ask') as b \gset
select t.task_id as look from bpm.task t where t.node_id = 'look' and t.state = 'Ready' \gset
select is((select t.outcome || ' ' || t.instance_status from bpm.throw_user_task_error(:'look', 'unheard-of') t), 'Failed Running', 'nobody catches it');
select is(test.incidents(:'b'), '{"UncaughtError look"}', 'an incident');
select is((select r.outcome::text from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'b' and i.state = 'Open'), 'Done', 'resolved');
select is((select t.state || ' ' || t.assignee from bpm.task t where t.task_id = :'look'), 'Ready ' || current_user, 'the task is open again');
select is((select c.instance_status from bpm.complete_user_task(:'look') c), 'Completed', 'and can be completed');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

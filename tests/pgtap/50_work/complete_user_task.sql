-- bpm.complete_user_task: a person's answer.
begin;
select plan(26);
select test.deploy('ask', '<userTask id="look"/>' || test.timer('slow', '<timeDuration>PT1H</timeDuration>', 'look') || test.service('chase') || '<endEvent id="end"/>'
  || test.flows('start>look', 'look>end', 'slow>chase', 'chase>end')) \gset
select test.start('ask', '{"a": 1}') as a \gset
select t.task_id as look from bpm.task t where t.node_id = 'look' \gset

-- Refused
select throws_ok(format('select * from bpm.complete_user_task(%L, ''[1]'')', :'look'), 'BP422', null, 'variables that are no object');
select throws_ok(format('select * from bpm.complete_user_task(%L, ''{"x": "__odd:1"}'')', :'look'), 'BP422', null, 'a value that forges a reserved prefix');
select throws_ok($$select * from bpm.complete_user_task('00000000-0000-7000-8000-000000000001')$$, 'BP404', null, 'a task that is not there');
select throws_ok(format('select * from bpm.complete_user_task(%L, p_tenant_id => ''nobody'')', :'look'), 'BP403', null, 'a tenant that is not ours');
select bpm.claim_user_task(:'look', 'ann') is not null as claimed \gset
select is(kit.raised(format('select * from bpm.complete_user_task(%L, ''{}'', ''bob'')', :'look')) -> 'detail', '{"claimed_by": "ann"}'::jsonb, 'somebody else''s task: by whom it is claimed');
select throws_ok(format('select * from bpm.complete_user_task(%L, ''{}'', ''bob'')', :'look'), 'BP409', null, 'is not completed');
select is((select t.state || t.attempt from bpm.task t where t.task_id = :'look'), 'Ready0', 'nothing was changed by them');

-- Completed
select c.* from bpm.complete_user_task(:'look', '{"ok": true, "list": "__var:1:[1]"}', 'ann') c \gset c_
select is(:'c_task_id' || :'c_outcome' || :'c_instance_status', :'look' || 'CompletedCompleted', 'completed');
select is(bpm.get_variables(:'a'), '{"a": 1, "ok": true, "list": [1]}'::jsonb, 'the variables are patched, decoded');
select is((select concat_ws(' ', t.state, t.attempt, t.assignee, t.worker_id) from bpm.task t where t.task_id = :'look'), 'Completed 1 ann ann', 'the task is Completed, by its assignee');
select is((select concat_ws(' ', e.attempt, e.state, e.outcome, e.worker_id) from bpm.execution e where e.task_id = :'look'), '1 Succeeded Completed ann', 'as an attempt like any other');
select is((select r.output || jsonb_build_object('by', r.created_by) from bpm_core.result r where r.task_instance_id = :'look'), '{"by": "ann", "ok": true, "list": [1]}'::jsonb, 'with a result');
select is((select array_agg(h.kind || coalesce(' ' || h.actor, '') order by h.seq) from bpm.get_history(:'a') h where h.kind ~ 'Task|Timer'), '{TimerStarted,"TaskCompleted ann",TimerCancelled}', 'and history; its timer is cancelled');
select is((select array_agg(e.actor || ' ' || e.action order by e.id) from bpm_core.audit_event e where e.aggregate_id = :'look'), '{"ann ClaimUserTask","ann CompleteUserTask"}', 'it is audited');

-- Repeats
select is((select c.outcome || c.instance_status from bpm.complete_user_task(:'look', '{"list": "__var:1:[1]", "ok": true}', 'ann') c), 'CompletedCompleted', 'an unchanged repeat by the same person gets the first answer');
select throws_ok(format('select * from bpm.complete_user_task(%L, ''{"ok": false}'', ''ann'')', :'look'), 'BP409', null, 'another answer is a conflict');
select throws_ok(format('select * from bpm.complete_user_task(%L, ''{"list": "__var:1:[1]", "ok": true}'', ''bob'')', :'look'), 'BP409', null, 'so is the same by another person');
select is((select array_agg(x order by x) from unnest(test.history(:'a', 'Task%')) x), '{"TaskCompleted 1"}', 'nothing was written again');

-- Unclaimed
select test.start('ask') as b \gset
select t.task_id as look from bpm.task t where t.process_instance_id = :'b' \gset
select is((select c.outcome::text from bpm.complete_user_task(:'look', null) c), 'Completed', 'null variables are none; an unclaimed task is claimed by completing it');
select is((select t.assignee from bpm.task t where t.task_id = :'look'), current_user::text, 'by the caller''s role');

-- Closed, or never one
select test.start('ask') as c \gset
select t.task_id as look from bpm.task t where t.process_instance_id = :'c' \gset
select bpm.advance_clock(interval '1 hour 1 second') is not null as moved \gset
select is(test.tick('timers'), 1, 'its timer fires');
select throws_ok(format('select * from bpm.complete_user_task(%L)', :'look'), 'BP409', null, 'a task that was interrupted');
select is(test.standing(:'c'), '{"chase Waiting"}', 'the other path goes on');
select throws_ok(format('select * from bpm.complete_user_task(%L)', t.task_id), 'BP404', null, 'a worker''s task') from bpm.task t where t.node_id = 'chase';
select test.start('ask') as d \gset
select throws_ok(format('select * from bpm.complete_task(%L, %s)', t.task_id, t.fencing_token), 'BP410', null, 'a worker cannot complete a person''s task') from bpm.task t where t.process_instance_id = :'d';
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

-- bpm.suspend_process and bpm.resume_process: nothing in a suspended process moves, nothing that reaches it is lost (C16 as a whole kind).
begin;
select plan(71);
select test.deploy_everything() \gset
create function pg_temp.all_of(p_process_instance_id uuid) returns text[] language sql as $$
  select array_agg(x.what order by x.what) from (
    select 'task ' || t.node_id || ' ' || t.state as what from bpm.task t where t.process_instance_id = p_process_instance_id and t.state not in ('Completed', 'Cancelled')
    union all select 'timer ' || t.node_id || ' ' || t.status from bpm.timer t where t.process_instance_id = p_process_instance_id and t.status not in ('Fired', 'Cancelled')
    union all select 'wait ' || s.node_id || ' ' || s.state from bpm_core.subscription s where s.workflow_instance_id = test.workflow(p_process_instance_id) and s.state = 'Open'
    union all select 'inbox ' || i.kind || case when i.available_at = 'infinity' then ' aside' else '' end from bpm_core.inbox i where i.target_id = test.workflow(p_process_instance_id)) x $$;
-- Suspends and lets tick look at everything.
create function pg_temp.suspended(p_process_instance_id uuid) returns integer language sql as $$
  select bpm.suspend_process(p_process_instance_id); select bpm.run_until_idle() $$;
create function pg_temp.resumed(p_process_instance_id uuid) returns integer language sql as $$
  select bpm.resume_process(p_process_instance_id); select bpm.run_until_idle() $$;

-- What nobody has in hand is held
select test.start('everything', '{"amount": 5}', 'S-1') as a \gset
select test.complete_next('reserve') as done \gset
select is(pg_temp.all_of(:'a'), '{"task charge Ready","timer slow Scheduled","wait picked Open"}', 'a task, a timer, a wait');
select concat_ws(' ', s.process_instance_id = :'a', s.status) as answer from bpm.suspend_process(:'a', 'audit', 'ann') s \gset
select is(:'answer'::text, 't Suspended', 'suspended');
select is(pg_temp.all_of(:'a'), '{"task charge Held","timer slow Held","wait picked Open"}', 'task and timer are held, the wait stays open');
select is((select concat_ws(' ', i.status, w.status, i.live_tokens) from bpm.instance i join bpm_core.workflow_instance w on w.id = i.workflow_instance_id where i.process_instance_id = :'a'), 'Suspended Suspended 2', 'the process and its workflow say so');
select is((select array_agg(h.kind || ' ' || coalesce(h.actor, '-') || ' ' || coalesce(h.detail ->> 'reason', '-') order by h.seq) from bpm.get_history(:'a') h where h.kind in ('InstanceSuspended', 'TaskHeld', 'TimerHeld')), '{"InstanceSuspended ann audit","TaskHeld - -","TimerHeld - -"}', 'history tells by whom, why, and what');
select is((select count(*) from bpm.claim_tasks('w', '{charge}', 10)), 0::bigint, 'no task of it is handed out');
select bpm.advance_clock(interval '2 hours') is not null as moved \gset
select is(bpm.run_until_idle(), 0, 'no timer fires, though its time has come');
select is(test.broken(), '{}', 'invariants hold while it is suspended');
select is((select s.status from bpm.suspend_process(:'a', 'again', 'bob') s), 'Suspended', 'again: the same answer');
select is((select array_agg(concat_ws(' ', e.actor, e.action, e.reason)) from bpm_core.audit_event e where e.aggregate_id = :'a'), '{"ann SuspendProcess audit"}', 'suspending twice is one act');
select concat_ws(' ', s.process_instance_id = :'a', s.status) as answer from bpm.resume_process(:'a', 'done', 'cid') s \gset
select is(:'answer'::text, 't Running', 'resumed');
select is(pg_temp.all_of(:'a'), '{"task charge Ready","timer slow Scheduled","wait picked Open"}', 'task and timer are as they were');
select is((select t.due_at between bpm_core.now() - interval '10 seconds' and bpm_core.now() from bpm.timer t where t.process_instance_id = :'a' and t.node_id = 'slow'), true, 'what fell due meanwhile is due now');
select bpm.run_until_idle() as done \gset
select is(:done || test.standing(:'a')::text, '1{"charge Waiting","picked Waiting","remind Waiting"}', 'it fires once');
select is(bpm.run_until_idle(), 0, 'and not again');
select is((select s.status from bpm.resume_process(:'a') s), 'Running', 'resuming again: the same answer');
select is((select array_agg(e.action order by e.at, e.id) from bpm_core.audit_event e where e.aggregate_id = :'a'), '{SuspendProcess,ResumeProcess}', 'resuming twice is one act');
select is(test.complete_next('charge') is not null, true, 'the task is handed out again');
select is(test.broken(), '{}', 'invariants hold');

select bpm.cancel_process(:'a') is not null as cancelled \gset

-- Work in hand: accepted and parked, applied once after resume
select bpm.deploy_bpmn(test.linear('short', 'first', 'second')) is not null as deployed \gset
select test.start('short') as b \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w1', '{first}') c \gset
select pg_temp.suspended(:'b') as done \gset
select is((select e.outcome::text from bpm.extend_leases(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) e), 'Extended', 'heartbeats go on');
select is((select concat_ws(' ', c.outcome, c.instance_status) from bpm.complete_task(:'task_id', :fencing_token, '{"x": 1}') c), 'Completed Suspended', 'an answer is accepted');
select is(pg_temp.all_of(:'b'), '{"inbox Answer aside"}', 'and parked');
select is((select concat_ws(' ', c.outcome, c.instance_status) from bpm.complete_task(:'task_id', :fencing_token, '{"x": 1}') c), 'Completed Suspended', 'a repeat gets the first answer');
select throws_ok(format('select * from bpm.complete_task(%L, %s, ''{"x": 2}'')', :'task_id', :fencing_token), 'BP409', null, 'another answer is a conflict');
select is(bpm.run_until_idle() || ' ' || (bpm.get_variables(:'b'))::text || test.standing(:'b')::text, '0 {}{"first Waiting"}', 'nothing moves, no variable changes');
select is(test.broken(), '{}', 'invariants hold with a parked answer');
select is(pg_temp.resumed(:'b'), 2, 'resume: it is applied, then what is held is freed');
select is((bpm.get_variables(:'b'))::text || test.standing(:'b')::text || test.history(:'b', 'Task%')::text, '{"x": 1}{"second Waiting"}{"TaskHeld 1","TaskCompleted 1"}', 'once');
select is((select concat_ws(' ', c.outcome, c.instance_status) from bpm.complete_task(:'task_id', :fencing_token, '{"x": 1}') c), 'Completed Running', 'a repeat still gets it');
select is(test.broken(), '{}', 'invariants hold after it');

-- Failures, releases and expired leases: the attempt ends, the task is held, its pause goes on counting
select test.start('everything', '{"amount": 5}', 'S-2') as c \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{reserve}') c \gset
select pg_temp.suspended(:'c') as done \gset
select is((select concat_ws(' ', f.outcome) from bpm.fail_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token, 'error', 'no', 'retry_in_seconds', 600))) f), 'Retrying', 'a failure is accepted');
select is(pg_temp.all_of(:'c'), '{"task reserve Held"}', 'its task is held');
select pg_temp.resumed(:'c') as done \gset
select is((select t.state || ' ' || (t.available_at > bpm_core.now() + interval '9 minutes') from bpm.task t where t.task_id = :'task_id'), 'Ready true', 'and handed out when its pause is over');
select bpm.advance_clock(interval '11 minutes') is not null as moved \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{reserve}') c \gset
select pg_temp.suspended(:'c') as done \gset
select is((select r.outcome::text from bpm.release_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) r) || pg_temp.all_of(:'c')::text, 'Released{"task reserve Held"}', 'a task given back is held');
select pg_temp.resumed(:'c') as done \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{reserve}', 1, interval '1 minute') c \gset
select pg_temp.suspended(:'c') as done \gset
select bpm.advance_clock(interval '2 minutes') is not null as moved \gset
select is(bpm.run_until_idle() || ' ' || test.incidents(:'c')::text || pg_temp.all_of(:'c')::text, '1 {"AttemptsExhausted reserve"}{"task reserve Failed"}', 'a lease that runs out ends the attempt; the last one is an incident at once');
select i.incident_id from bpm.incident i where i.process_instance_id = :'c' and i.state = 'Open' \gset
select throws_ok(format('select * from bpm.resolve_incident(%L, 2)', :'incident_id'), 'BP423', null, 'which is resolved after resume');
select pg_temp.resumed(:'c') as done \gset
select bpm.resolve_incident(:'incident_id', 2) is not null as resolved \gset
select is(test.complete_next('reserve') is not null, true, 'and goes on');
select is(test.broken(), '{}', 'invariants hold after failures');
select bpm.cancel_process(:'c') is not null as cancelled \gset

-- A timer came due meanwhile on the task whose answer was accepted: the answer counts
select test.deploy('late', test.service('work') || test.timer('overdue', '<timeDuration>PT1M</timeDuration>', 'work') || '<endEvent id="fine"/><endEvent id="gave_up"/>'
  || test.flows('start>work', 'work>fine', 'overdue>gave_up')) is not null as deployed \gset
select test.start('late') as d \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{work}', 1, interval '1 hour') c \gset
select pg_temp.suspended(:'d') as done \gset
select bpm.advance_clock(interval '5 minutes') is not null as moved \gset
select bpm.complete_task(:'task_id', :fencing_token) is not null as completed \gset
select is(pg_temp.resumed(:'d') || test.status(:'d') || test.visits(:'d', 'fine'), '2Completed1', 'the answer, not the timer, though both were due');
select test.start('late') as d \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{work}', 1, interval '1 hour') c \gset
select pg_temp.suspended(:'d') as done \gset
select bpm.advance_clock(interval '5 minutes') is not null as moved \gset
select is(pg_temp.resumed(:'d') || test.status(:'d') || test.visits(:'d', 'gave_up'), '1Completed1', 'without an answer the timer fires');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) c), 'Cancelled', 'and the worker is told');

select test.deploy('outer', '<subProcess id="sub"><startEvent id="in"/>' || test.service('deep') || test.service('deeper') || '<endEvent id="out"/>' || test.flows('in>deep', 'deep>deeper', 'deeper>out') || '</subProcess>'
  || test.timer('overdue', '<timeDuration>PT1M</timeDuration>', 'sub', false) || '<endEvent id="fine"/><endEvent id="late"/>' || test.flows('start>sub', 'sub>fine', 'overdue>late')) is not null as deployed \gset
select test.start('outer') as n \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{deep}', 1, interval '1 hour') c \gset
select pg_temp.suspended(:'n') as done \gset
select bpm.advance_clock(interval '5 minutes') is not null as moved \gset
select bpm.complete_task(:'task_id', :fencing_token, '{"deep": 1}') is not null as completed \gset
select pg_temp.resumed(:'n') as done \gset
select is((select array_agg(h.kind order by h.seq) from bpm.get_history(:'n') h where h.kind in ('TaskCompleted', 'TimerFired')), '{TaskCompleted,TimerFired}', 'of an answer and a timer of the activity around, the answer comes first');
select is(test.standing(:'n')::text || test.broken()::text, '{"deeper Waiting","sub Waiting"}{}', 'in a sub-process as well');

-- Errors thrown: caught after resume; nobody catches it: an incident at once
select test.start('everything', '{"amount": 5}', 'S-3') as e \gset
select test.complete_next('reserve') as done \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{charge}') c \gset
select pg_temp.suspended(:'e') as done \gset
select is((select concat_ws(' ', t.outcome, t.instance_status) from bpm.throw_error(:'task_id', :fencing_token, 'card-declined', 'no', '{"y": 2}') t), 'Done Suspended', 'an error that a boundary catches is accepted');
select is((select concat_ws(' ', t.outcome, t.instance_status) from bpm.throw_error(:'task_id', :fencing_token, 'card-declined', 'no', '{"y": 2}') t), 'Done Suspended', 'a repeat gets the first answer');
select is(test.standing(:'e')::text || pg_temp.all_of(:'e')::text || test.broken()::text, '{"charge Waiting","picked Waiting"}{"inbox Answer aside","wait picked Open"}{}', 'it is parked');
select pg_temp.resumed(:'e') as done \gset
select is(:done || test.status(:'e') || (bpm.get_variables(:'e') ->> 'y'), '2Completed2', 'the boundary takes the token: the terminate end behind it');
select test.start('everything', '{"amount": 5}', 'S-4') as f \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{reserve}') c \gset
select pg_temp.suspended(:'f') as done \gset
select is((select t.outcome::text from bpm.throw_error(:'task_id', :fencing_token, 'other') t) || test.incidents(:'f')::text, 'Failed{"UncaughtError reserve"}', 'one that nobody catches is an incident');
select is(test.broken(), '{}', 'invariants hold after errors');

-- Messages, signals, approvals
select test.start('everything', '{"amount": 5}', 'S-5') as g \gset
select test.complete_next('reserve') as done \gset
select pg_temp.suspended(:'g') as done \gset
select is((select m.state from bpm.correlate_message('picked-up', 'S-5', '{"z": 3}', interval '1 minute') m), 'Correlated', 'a message is taken');
select bpm.advance_clock(interval '1 hour') is not null as moved \gset
select is(bpm.run_until_idle() || pg_temp.all_of(:'g')::text, '0{"inbox Message aside","task charge Held","timer slow Held","wait picked Open"}', 'and waits, past its time to live too');
select is((select i.attempts from bpm_core.inbox i), 0, 'which counts no attempt');
select pg_temp.resumed(:'g') as done \gset
select is(:done || ' ' || (bpm.get_variables(:'g') ->> 'z') || test.standing(:'g')::text, '2 3{"charge Waiting","join Waiting","remind Waiting"}', 'it is received after resume');
select test.deploy('heard', '<intermediateCatchEvent id="ear"><signalEventDefinition signalRef="s"/></intermediateCatchEvent><endEvent id="end"/>' || test.flows('start>ear', 'ear>end'), '<signal id="s" name="loud"/>') is not null as deployed \gset
select test.start('heard') as h \gset
select pg_temp.suspended(:'h') as done \gset
select bpm.broadcast_signal('loud') is not null as sent \gset
select is(bpm.run_until_idle() || pg_temp.all_of(:'h')::text, '1{"inbox Signal aside","wait ear Open"}', 'a signal waits as well');
select is(pg_temp.resumed(:'h') || test.status(:'h'), '1Completed', 'and is heard after resume');
select test.start('everything', '{"amount": 5000}', 'S-6') as j \gset
select test.complete_next('reserve') as done \gset
select pg_temp.suspended(:'j') as done \gset
select is((select concat_ws(' ', a.status, a.effect) from bpm.approval p cross join lateral bpm.decide_approval(p.approval_id, 'Approved') a where p.process_instance_id = :'j'), 'Approved Pending', 'a decision is recorded, its effect pending');
select is(bpm.run_until_idle() || pg_temp.resumed(:'j')::text || pg_temp.all_of(:'j')::text, '01{"task release Ready"}', 'until resume');

-- Parked tokens
select test.deploy('round', '<exclusiveGateway id="top"/><task id="step"/><exclusiveGateway id="again" default="again_end"/><endEvent id="end"/>'
  || test.flows('start>top', 'top>step', 'step>again', 'again>end') || test.when('again>top', '${go == true}')) is not null as deployed \gset
select test.start('round', '{"go": true}') as k \gset
select is(test.standing(:'k')::text || pg_temp.suspended(:'k'), '{"step Ready"}1', 'a token that is parked is set aside');
select is(bpm.run_until_idle() || test.standing(:'k')::text || test.broken()::text, '0{"step Ready"}{}', 'and stands still');
select bpm.set_variables(:'k', '{"go": false}') is not null as set \gset
select is(pg_temp.resumed(:'k') || test.status(:'k'), '1Completed', 'until resume; variables may be set meanwhile');

-- People
select test.deploy('people', '<userTask id="look"/><endEvent id="end"/>' || test.flows('start>look', 'look>end')) is not null as deployed \gset
select test.start('people') as l \gset
select t.task_id from bpm.task t where t.process_instance_id = :'l' \gset
select pg_temp.suspended(:'l') as done \gset
select throws_ok(format('select * from bpm.claim_user_task(%L)', :'task_id'), 'BP423', null, 'a user task of it is not taken');
select throws_ok(format('select * from bpm.complete_user_task(%L)', :'task_id'), 'BP423', null, 'nor completed');
select pg_temp.resumed(:'l') as done \gset
select is(test.complete_user(:'l') is not null, true, 'after resume it is');

-- Cancel while suspended: nothing is swallowed
select bpm.cancel_process(:'g') is not null as cancelled \gset
select test.start('everything', '{"amount": 5}', 'S-7') as m \gset
select test.complete_next('reserve') as done \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{charge}') c \gset
select pg_temp.suspended(:'m') as done \gset
select bpm.complete_task(:'task_id', :fencing_token) is not null as completed \gset
select m.message_id from bpm.correlate_message('picked-up', 'S-7', '{}', interval '1 hour') m \gset
select c.status || bpm.run_until_idle() as done from bpm.cancel_process(:'m') c \gset
select is(:'done' || (select m.state::text from bpm_core.message m where m.id = :'message_id'), 'Cancelled2Buffered', 'a suspended process can be cancelled; its message goes back, the parked answer is void');
select is(test.broken(), '{}', 'invariants hold after it');

-- Refused
select throws_ok(format('select * from bpm.%s_process(%L)', x.verb, :'m'), 'BP409', null, x.verb || ' one that has ended')
  from (values ('suspend'), ('resume')) x(verb);
select throws_ok(format('select * from bpm.%s_process(%s)', x.verb, x.args), x.code, null, format('%s: %s', x.verb, x.code))
  from (values ('suspend', '''00000000-0000-7000-8000-000000000001''', 'BP404'), ('resume', 'null', 'BP404'),
               ('suspend', format('%L, repeat(''x'', 4001)', :'k'), 'BP422'), ('resume', format('%L, null, '' ''', :'k'), 'BP400')) x(verb, args, code);
select * from finish();
rollback;

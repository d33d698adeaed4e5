-- Every rule of every invariant is seen to fail: rows are spoiled as no function of the engine would, and exactly that invariant
-- speaks up (where one fault breaks several, all of them are named). Each test.breaks undoes what it did.
begin;
select plan(153);

-- A house with a bit of everything in it.
select test.deploy_everything();
select bpm.deploy_bpmn(test.linear('line', 'a', 'b'));
create temp table h (name text primary key, p uuid, w uuid);
create function pg_temp.begin_case(p_name text, p_amount integer) returns uuid language sql as $$
  insert into h select p_name, s.process_instance_id, s.workflow_instance_id
    from bpm.start_process('everything', jsonb_build_object('amount', p_amount), p_name, 'key ' || p_name) s
  returning p $$;
create function pg_temp.p(p_name text) returns uuid language sql as $$ select p from h where name = p_name $$;
create function pg_temp.w(p_name text) returns uuid language sql as $$ select w from h where name = p_name $$;
create function pg_temp.token(p_name text, p_node text) returns uuid language sql as $$
  select t.id from bpm_core.token t where t.workflow_instance_id = pg_temp.w(p_name) and t.node_id = p_node $$;
create function pg_temp.task(p_name text, p_node text) returns uuid language sql as $$
  select t.id from bpm_core.task_instance t where t.workflow_instance_id = pg_temp.w(p_name) and t.node_id = p_node $$;
-- Another row of history for a token of a case; p_detail null: none.
create function pg_temp.tell(p_name text, p_kind text, p_token uuid, p_node text, p_to_state text, p_detail jsonb, p_from_state text default null)
returns void language sql as $$
  insert into bpm_core.history_event (workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  values (pg_temp.w(p_name), bpm_core.now(), p_kind::bpm_core.history_kind, p_token, p_node, p_from_state, p_to_state, p_detail) $$;

-- done: all the way, with a retry, an approval, a command sent, a message, timers, a join, a user task.
select pg_temp.begin_case('done', 1200);
select test.fail_next('reserve');
select test.complete_next('reserve');
select test.decide(pg_temp.p('done'), 'Approved');
select test.complete_next('release-gated');
select test.deliver_next();
select bpm.correlate_message('picked-up', 'done', '{}');
select test.complete_next('charge');
select bpm.advance_clock('2 s');
select bpm.run_until_idle();
select test.complete_user(pg_temp.p('done'));
-- cancelled while charge was in hand.
select pg_temp.begin_case('cancelled', 1);
select test.complete_next('reserve');
select bpm.claim_tasks('worker', '{charge}');
select bpm.cancel_process(pg_temp.p('cancelled'));
-- half: one branch waits at the join, the other at the timer; its command got lost on the way.
select pg_temp.begin_case('half', 1);
select test.complete_next('reserve');
select test.deliver_next('Unknown', null);
select bpm.correlate_message('picked-up', 'half', '{}');
select test.complete_next('charge');
-- open: second attempt of charge in hand, message awaited, command not sent yet.
select pg_temp.begin_case('open', 1);
select test.complete_next('reserve');
select test.fail_next('charge');
select bpm.claim_tasks('worker', '{charge}');
-- asked, granted: approval undecided; approved, its task offered.
select pg_temp.begin_case('granted', 1200);
select test.complete_next('reserve');
select test.decide(pg_temp.p('granted'), 'Approved');
select pg_temp.begin_case('asked', 1200);
select test.complete_next('reserve');
-- dead: attempts exhausted. fresh: nothing done yet, but one failed attempt.
select pg_temp.begin_case('dead', 1);
select test.fail_next('reserve');
select test.fail_next('reserve');
select pg_temp.begin_case('fresh', 1);
select test.fail_next('reserve');
-- A second version of the same file, another file to its hash.
select bpm.deploy_bpmn(replace(test.everything('everything'), '<process id', '<!-- again --><process id'));

select is_empty('select * from bpm.check_invariants()', 'undisturbed, nothing is broken');

-- I-01, I-02: what history tells of tokens
select test.breaks($$select pg_temp.tell('done', 'TokenCompleted', pg_temp.token('done', 'end'), 'end', 'Completed', null)$$, '{I-01}', 'a second end');
select test.breaks($$
  delete from bpm_core.history_event where kind = 'TokenCompleted' and node_id = 'end' and workflow_instance_id = pg_temp.w('done');
  select pg_temp.tell('done', 'IncidentOpened', pg_temp.token('done', 'end'), 'end', 'Failed', null);
  select pg_temp.tell('done', 'TokenCompleted', pg_temp.token('done', 'end'), 'end', 'Completed', null)$$, '{I-02}', 'Failed to Completed');
select test.breaks($$update bpm_core.token set state = 'Executing' where id = pg_temp.token('half', 'join')$$, '{I-02,I-14}', 'Executing at rest');

-- I-03, I-04: claims and late writers
select test.breaks($$update bpm_core.execution set fencing_token = 2 where task_instance_id = pg_temp.task('open', 'charge')$$, '{I-03}', 'a shared fencing token');
select test.breaks($$
  insert into bpm_core.execution (task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
  select task_instance_id, 2, 'other', 2, claimed_at, lease_until, ended_at, state, outcome
    from bpm_core.execution where task_instance_id = pg_temp.task('open', 'charge')$$, '{I-03,I-13}', 'a running attempt that ended');
select test.breaks($$
  insert into bpm_core.result (task_instance_id, attempt, output, content_hash, created_by, created_at)
  values (pg_temp.task('done', 'reserve'), 1, '{}', '', 'late', now())$$, '{I-04}', 'a result of the failed attempt');
select test.breaks($$update bpm_core.task_instance set fencing_token = 9 where id = pg_temp.task('done', 'reserve')$$, '{I-04}', 'a success that was not the last claim');

-- I-06: joins
select test.breaks($$delete from bpm_core.parallel_join_arrival where workflow_instance_id = pg_temp.w('half')$$, '{I-06}', 'joined without an arrival');
select test.breaks($$update bpm_core.parallel_join set expected = 3 where workflow_instance_id = pg_temp.w('half')$$, '{I-06}', 'a join that expects too many');
select test.breaks($$update bpm_core.parallel_join set fired_at = null where workflow_instance_id = pg_temp.w('done')$$, '{I-06}', 'complete, not fired');
select test.breaks($$select pg_temp.tell('done', 'JoinFired', null, 'join', null, '{"round": 1}')$$, '{I-06}', 'fired twice');
select test.breaks($$update bpm_core.parallel_join_arrival set round = 7 where workflow_instance_id = pg_temp.w('half')$$, '{I-06}', 'an arrival without its round');

-- I-07: tasks and tokens
select test.breaks($$update bpm_core.task_instance set visit = 9 where id = pg_temp.task('fresh', 'reserve')$$, '{I-07}', 'a task of another visit');
select test.breaks($$update bpm_core.task_instance set token_id = pg_temp.token('half', 'join') where id = pg_temp.task('fresh', 'reserve')$$, '{I-07,I-27}', 'a task of another token');
select test.breaks($$
  insert into bpm_core.task_instance (id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, available_at, max_attempts, lease)
  select bpm_core.new_id(), workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, available_at, max_attempts, lease
    from bpm_core.task_instance where id = pg_temp.task('fresh', 'reserve')$$, '{I-07}', 'two live tasks of one token');
select test.breaks($$
  delete from bpm_core.execution where task_instance_id = pg_temp.task('fresh', 'reserve');
  delete from bpm_core.task_instance where id = pg_temp.task('fresh', 'reserve')$$, '{I-07}', 'a task got lost');

-- I-08: attempts and fences
select test.breaks($$update bpm_core.execution set fencing_token = 9 where attempt = 1 and task_instance_id = pg_temp.task('done', 'reserve')$$, '{I-08}', 'fences out of order');
select test.breaks($$update bpm_core.task_instance set fencing_token = 0 where id = pg_temp.task('fresh', 'reserve')$$, '{I-08}', 'a fence that fell');
select test.breaks($$update bpm_core.task_instance set max_attempts = 50 where id = pg_temp.task('fresh', 'reserve')$$, '{I-08}', 'a maximum raised in secret');

-- I-09: what is over is over
select test.breaks($$update bpm_core.execution set ended_at = lease_until + interval '1 second' where state = 'Succeeded' and task_instance_id = pg_temp.task('done', 'charge')$$,
  '{I-09}', 'completed after the lease');
select test.breaks($$
  insert into bpm_core.execution (task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
  select task_instance_id, 2, 'other', 2, claimed_at, lease_until, ended_at, 'Failed', 'Failed'
    from bpm_core.execution where task_instance_id = pg_temp.task('done', 'charge')$$, '{I-08,I-09,I-13}', 'claimed after it was completed');
select test.breaks($$update bpm_core.task_instance set state = 'Failed' where id = pg_temp.task('done', 'charge')$$, '{I-09,I-13}', 'not completed any more');
select test.breaks($$update bpm_core.execution set claimed_at = now() + interval '1 day' where task_instance_id = pg_temp.task('cancelled', 'charge')$$,
  '{I-09}', 'claimed after it was cancelled');

-- I-10: timers
select test.breaks($$select pg_temp.tell('done', 'TimerFired', null, 'pause', null, jsonb_build_object('timer', t.id))
  from bpm_core.timer t where t.workflow_instance_id = pg_temp.w('done') and t.node_id = 'pause'$$, '{I-10}', 'fired twice');
select test.breaks($$select pg_temp.tell('done', 'TimerCancelled', null, 'pause', null, jsonb_build_object('timer', t.id))
  from bpm_core.timer t where t.workflow_instance_id = pg_temp.w('done') and t.node_id = 'pause'$$, '{I-10}', 'fired and cancelled');
select test.breaks($$update bpm_core.timer set status = 'Scheduled' where workflow_instance_id = pg_temp.w('half') and node_id = 'slow'$$, '{I-10}', 'due again');
select test.breaks($$delete from bpm_core.timer where workflow_instance_id = pg_temp.w('half') and node_id = 'pause'$$, '{I-10}', 'a timer got lost');

-- I-11: instances
select test.breaks($$
  delete from bpm_core.history_event where workflow_instance_id = pg_temp.w('done') and kind = 'InstanceCompleted';
  update bpm_core.process_instance set status = 'Running', ended_at = null where id = pg_temp.p('done');
  update bpm_core.workflow_instance set status = 'Running', ended_at = null where id = pg_temp.w('done')$$, '{I-11}', 'running with nothing to do');
select test.breaks($$update bpm_core.process_instance set status = 'Failed' where id = pg_temp.p('done')$$, '{I-11}', 'another status than its workflow');
select test.breaks($$delete from bpm_core.subscription where workflow_instance_id = pg_temp.w('open')$$, '{I-11}', 'a wait got lost');

-- I-11: what is held belongs to a suspended instance, and the other way round
select test.breaks($$update bpm_core.task_instance set state = 'Held' where id = pg_temp.task('fresh', 'reserve')$$, '{I-11}', 'a task held for ever');
select test.breaks($$update bpm_core.timer set status = 'Held' where workflow_instance_id = pg_temp.w('open') and status = 'Scheduled'$$, '{I-11}', 'a timer held for ever');
select test.breaks($$update bpm_core.workflow_instance set status = 'Suspended' where id = pg_temp.w('fresh');
  update bpm_core.process_instance set status = 'Suspended' where id = pg_temp.p('fresh')$$, '{I-11}', 'a task of a suspended instance for the taking');
select test.breaks($$insert into bpm_core.inbox (id, target_kind, target_id, kind, payload, available_at)
  values (bpm_core.new_id(), 'WorkflowInstance', pg_temp.w('fresh'), 'Message', '{}', 'infinity')$$, '{I-11}', 'mail set aside for ever');
select test.breaks($$update bpm_core.workflow_instance set status = 'Suspended' where id = pg_temp.w('fresh')$$, '{I-11}', 'suspended without its process');
select lives_ok(format('select bpm.suspend_process(%L)', pg_temp.p('fresh')), 'suspended as it should be');
select is_empty('select * from bpm.check_invariants()', 'that breaks nothing');
select bpm.resume_process(pg_temp.p('fresh'));

-- I-12: final instances
select test.breaks($$update bpm_core.token set state = 'Waiting' where id = pg_temp.token('done', 'end')$$, '{I-12,I-14,I-27}', 'a live token');
select test.breaks($$update bpm_core.task_instance set state = 'Executing' where id = pg_temp.task('cancelled', 'charge')$$, '{I-03,I-07,I-12,I-13}', 'a live task');
select test.breaks($$update bpm_core.timer set status = 'Held' where workflow_instance_id = pg_temp.w('done') and node_id = 'slow'$$, '{I-10,I-12}', 'a live timer');
select test.breaks($$update bpm_core.subscription set state = 'Open' where workflow_instance_id = pg_temp.w('done')$$, '{I-12}', 'an open wait');
select test.breaks($$update bpm_core.approval_record set status = 'Pending', effect = 'Pending', decided_by = null, decided_at = null
  where workflow_instance_id = pg_temp.w('done')$$, '{I-12,I-13,I-16}', 'a pending approval');
select test.breaks($$insert into bpm_core.scope (id, workflow_instance_id, node_id, host_token_id) values (bpm_core.new_id(), pg_temp.w('done'), 'fork', bpm_core.new_id())$$, '{I-12,I-27}', 'an open scope');

-- I-13: history
select test.breaks($$update bpm_core.history_event set at = at - interval '1 minute' where kind = 'TokenCompleted' and node_id = 'end' and workflow_instance_id = pg_temp.w('done')$$,
  '{I-13}', 'history that goes back');
select test.breaks($$delete from bpm_core.history_event where kind = 'InstanceStarted' and workflow_instance_id = pg_temp.w('done')$$, '{I-13}', 'no birth');
select test.breaks($$delete from bpm_core.history_event where kind = 'InstanceCancelled' and workflow_instance_id = pg_temp.w('cancelled')$$, '{I-13}', 'no row of an end');
select test.breaks($$delete from bpm_core.history_event where kind = 'TaskCompleted' and node_id = 'charge' and workflow_instance_id = pg_temp.w('done')$$, '{I-13}', 'no row of a task');
select test.breaks($$delete from bpm_core.history_event where kind = 'TimerFired' and workflow_instance_id = pg_temp.w('done')$$, '{I-13}', 'no row of a timer');
select test.breaks($$delete from bpm_core.history_event where kind = 'MessageAwaited' and workflow_instance_id = pg_temp.w('done')$$, '{I-13}', 'no row of a wait');
select test.breaks($$delete from bpm_core.history_event where kind = 'IncidentOpened' and workflow_instance_id = pg_temp.w('dead')$$, '{I-13}', 'no row of an incident');
select test.breaks($$delete from bpm_core.history_event where kind = 'ApprovalDecided' and workflow_instance_id = pg_temp.w('asked');
  delete from bpm_core.history_event where kind = 'ApprovalRequested' and workflow_instance_id = pg_temp.w('asked')$$, '{I-13}', 'no row of an approval');
select test.breaks($$delete from bpm_core.history_event where kind = 'CommandSent' and workflow_instance_id = pg_temp.w('done')$$, '{I-13}', 'no row of a command');
select test.breaks($$delete from bpm_core.execution where attempt = 1 and task_instance_id = pg_temp.task('done', 'reserve')$$, '{I-13}', 'no row of an attempt');

-- I-14: replay
select test.breaks($$update bpm_core.token set node_id = 'merge' where id = pg_temp.token('half', 'join')$$, '{I-14}', 'a token elsewhere');
select test.breaks($$update bpm_core.token set state = 'Terminated' where id = pg_temp.token('done', 'end')$$, '{I-14}', 'a token in another state');
select test.breaks($$insert into bpm_core.token (id, workflow_instance_id, node_id, state, updated_at) values (bpm_core.new_id(), pg_temp.w('done'), 'end', 'Completed', now())$$,
  '{I-14}', 'a token history does not know');
select test.breaks($$update bpm_core.workflow_instance set variables = '{"forged": 1}' where id = pg_temp.w('half')$$, '{I-14}', 'variables nobody patched');

-- I-16: approvals
select test.breaks($$select pg_temp.tell('done', 'ApprovalDecided', null, 'release', 'Approved', jsonb_build_object('approval', a.id))
  from bpm_core.approval_record a where a.workflow_instance_id = pg_temp.w('done')$$, '{I-16}', 'decided twice');
select test.breaks($$select pg_temp.tell('done', 'ApprovalApplied', null, 'release', 'Applied', jsonb_build_object('approval', a.id))
  from bpm_core.approval_record a where a.workflow_instance_id = pg_temp.w('done')$$, '{I-16}', 'in effect twice');
select test.breaks($$
  insert into bpm_core.task_instance (id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, available_at, max_attempts, lease)
  select bpm_core.new_id(), a.workflow_instance_id, a.token_id, a.visit, a.node_id, t.task_version_id, t.task_type, now(), t.max_attempts, t.lease
    from bpm_core.approval_record a, bpm_core.task_instance t
   where a.workflow_instance_id = pg_temp.w('asked') and t.id = pg_temp.task('granted', 'release')$$, '{I-16}', 'a task before the approval');
select test.breaks($$delete from bpm_core.task_instance where id = pg_temp.task('granted', 'release')$$, '{I-16}', 'approved, but no task');
select test.breaks($$
  insert into bpm_core.task_instance (id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, available_at, max_attempts, lease)
  select bpm_core.new_id(), workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, available_at, max_attempts, lease
    from bpm_core.task_instance where id = pg_temp.task('granted', 'release')$$, '{I-07,I-16}', 'approved, but two tasks');
select test.breaks($$delete from bpm_core.approval_vote v using bpm_core.approval_record a where a.id = v.approval_id and a.workflow_instance_id = pg_temp.w('granted');
  delete from bpm_core.approval_record where workflow_instance_id = pg_temp.w('granted')$$, '{I-16}', 'a gated task without an approval');
select test.breaks($$delete from bpm_core.approval_record where workflow_instance_id = pg_temp.w('asked')$$, '{I-16}', 'an approval got lost');

select test.breaks($$delete from bpm_core.approval_vote v using bpm_core.approval_record a
  where a.id = v.approval_id and a.workflow_instance_id = pg_temp.w('granted')$$, '{I-16}', 'approved by nobody');
select test.breaks($$update bpm_core.approval_record set required_approvals = 2 where workflow_instance_id = pg_temp.w('granted')$$, '{I-16}', 'approved by too few');
select test.breaks($$update bpm_core.approval_record set decided_by = 'somebody else' where workflow_instance_id = pg_temp.w('granted')$$, '{I-16}', 'decided by one who did not vote');
select test.breaks($$update bpm_core.approval_vote v set at = v.at + interval '1 minute' from bpm_core.approval_record a
  where a.id = v.approval_id and a.workflow_instance_id = pg_temp.w('granted')$$, '{I-16}', 'a vote after the decision');
select test.breaks($$insert into bpm_core.approval_vote (approval_id, actor, vote, at) select a.id, 'ann', 'Approve', a.created_at
  from bpm_core.approval_record a where a.workflow_instance_id = pg_temp.w('asked')$$, '{I-16}', 'enough votes and no decision');
select test.breaks($$insert into bpm_core.approval_vote (approval_id, actor, vote, at) select a.id, 'ann', 'Reject', a.created_at
  from bpm_core.approval_record a where a.workflow_instance_id = pg_temp.w('asked')$$, '{I-16}', 'a veto and no decision');
select test.breaks($$insert into bpm_core.approval_vote (approval_id, actor, vote, at) select a.id, 'zoe', 'Reject', a.created_at
  from bpm_core.approval_record a where a.workflow_instance_id = pg_temp.w('granted')$$, '{I-16}', 'approved against a veto');
select test.breaks($$update bpm_core.approval_record set approvers = '{nobody}' where workflow_instance_id = pg_temp.w('granted')$$, '{I-16}', 'a vote of one not asked');
select test.breaks($$update bpm_core.approval_record set approver_groups = '{board}' where workflow_instance_id = pg_temp.w('granted')$$, '{I-16}', 'a vote of one in none of the groups');
select test.breaks($$with a as (update bpm_core.approval_record set required_approvals = 2, claimed_by = '{ann}' where workflow_instance_id = pg_temp.w('asked') returning id, created_at)
  insert into bpm_core.approval_vote (approval_id, actor, vote, at) select a.id, 'ann', 'Approve', a.created_at from a$$, '{I-16}', 'one who has voted is still at it');
select test.breaks($$update bpm_core.approval_record set status = 'Expired', decided_by = 'bpm:expiry', decided_at = created_at
  where workflow_instance_id = pg_temp.w('asked')$$, '{I-13,I-16}', 'expired without a time');

-- I-17: compensation. undo: a and b done and undone but for a, whose handler is at work.
select test.deploy('undo', (select string_agg(test.service(t) || format('<boundaryEvent id="%1$s-b" attachedToRef="%1$s"><compensateEventDefinition/></boundaryEvent><%2$s id="un-%1$s" isForCompensation="true"/><association id="%1$s-as" sourceRef="%1$s-b" targetRef="un-%1$s"/>', t, case t when 'a' then 'userTask' else 'task' end), '') from unnest('{a,b,c}'::text[]) t)
  || '<intermediateThrowEvent id="back"><compensateEventDefinition/></intermediateThrowEvent><endEvent id="end"/>' || test.flows('start>a', 'a>b', 'b>c', 'c>back', 'back>end'));
insert into h select 'undo', s.process_instance_id, s.workflow_instance_id from bpm.start_process('undo') s;
select test.complete_next(t) from unnest('{a,b,c}'::text[]) t;
create function pg_temp.record(p_node text) returns uuid language sql as $$
  select r.id from bpm_core.compensation_record r where r.workflow_instance_id = pg_temp.w('undo') and r.node_id = p_node $$;
select is_empty('select * from bpm.check_invariants()', 'in the middle of a compensation nothing is broken');
select test.breaks($$delete from bpm_core.history_event where kind = 'CompensationRecorded' and detail ->> 'record' = pg_temp.record('b')::text$$, '{I-17}', 'a record of what was never completed');
select test.breaks($$select pg_temp.tell('undo', 'CompensationStarted', token_id, node_id, null, detail), pg_temp.tell('undo', 'CompensationCompleted', token_id, node_id, null, detail)
  from bpm_core.history_event where kind = 'CompensationCompleted' and detail ->> 'record' = pg_temp.record('b')::text$$, '{I-17}', 'undone twice');
select test.breaks($$update bpm_core.compensation_record set status = 'Completed', ended_at = now() where id = pg_temp.record('a')$$, '{I-17}', 'undone without a trace, and while its handler is at work');
select test.breaks($$update bpm_core.compensation_record set status = 'Pending', ended_at = null where id = pg_temp.record('b')$$, '{I-17}', 'undone, and not any more');
select test.breaks($$update bpm_core.history_event set detail = detail || '{"position": 7}' where kind in ('CompensationStarted', 'CompensationCompleted')
  and detail ->> 'record' = pg_temp.record('b')::text$$, '{I-17}', 'not in descending order');
select test.breaks($$delete from bpm_core.history_event where kind = 'CompensationCompleted' and detail ->> 'record' = pg_temp.record('b')::text$$, '{I-17}', 'the next before the last one ended');
select test.breaks($$update bpm_core.history_event set detail = detail || '{"position": 1}' where kind = 'CompensationRecorded' and detail ->> 'record' = pg_temp.record('b')::text$$,
  '{I-17}', 'positions that do not grow');
select test.breaks($$update bpm_core.scope set state = 'Open' where id = (select handler_scope_id from bpm_core.compensation_record where id = pg_temp.record('b'))$$,
  '{I-17,I-27}', 'several handlers at once');
select test.breaks($$update bpm_core.compensation_record set scope_id = bpm_core.new_id() where id = pg_temp.record('a')$$, '{I-27}', 'a record of no scope');
select test.breaks($$update bpm_core.compensation_record set handler_ref = 'nobody' where id = pg_temp.record('a')$$, '{I-27}', 'a record of no handler');
select test.breaks($$update bpm_core.compensation_record set thrower_token_id = bpm_core.new_id() where id = pg_temp.record('a')$$, '{I-27}', 'a record of no thrower');
select bpm.cancel_process(pg_temp.p('undo'));

-- I-18: idempotency keys
select test.breaks($$update bpm_core.idempotency_key set request_hash = '\x00' where key = 'key done'$$, '{I-18}', 'half a hash');
select test.breaks($$update bpm_core.idempotency_key set response = null where key = 'key done'$$, '{I-18}', 'no answer');
select test.breaks($$update bpm_core.idempotency_key set response = jsonb_build_object('process_instance_id', instance_id, 'workflow_instance_id', pg_temp.w('half')) where key = 'key done'$$,
  '{I-18}', 'the answer of another');
select test.breaks($$update bpm_core.idempotency_key set instance_id = bpm_core.new_id() where key = 'key done'$$, '{I-18}', 'an instance that never was');
select test.breaks($$insert into bpm_core.idempotency_key select tenant_id, operation, 'other', request_hash, response, status, instance_id, created_at, expires_at
  from bpm_core.idempotency_key where key = 'key done'$$, '{I-18}', 'two keys, one instance');

-- I-21: pinned versions
select test.breaks($$update bpm_core.workflow_instance w set workflow_version_id = v.id
  from bpm_core.workflow_version v where v.version = 2 and w.id = pg_temp.w('done')$$, '{I-21}', 'pinned to another version');
select test.breaks($$update bpm_core.workflow_flow set name = 'another' where flow_id = 'join_look'$$, '{I-21}', 'a graph that changed');
select test.breaks($$update bpm_core.workflow_flow set is_direct = true where flow_id = 'join_look'$$, '{I-21}', 'a short way where there is none');
select test.breaks($$update bpm_core.workflow_version set bpmn_xml = bpmn_xml || ' '$$, '{I-21}', 'a file that changed');
select test.breaks($$update bpm_core.process_version set name = 'another'$$, '{I-21}', 'a process that changed');
select test.breaks($$update bpm_core.process_version set is_several = not is_several$$, '{I-21}', 'one that begins otherwise than its bindings say');
select test.breaks($$update bpm_core.workflow_version set start_node_id = 'another'$$, '{I-21}', 'a start event that is not there');
select test.breaks($$update bpm_core.task_version set max_attempts = max_attempts + 1$$, '{I-21}', 'a task that changed');
select test.breaks($$update bpm_core.role_version set policy = '{"limit": 1}'$$, '{I-21}', 'a role that changed');

select lives_ok(format('select bpm.migrate_process(%L, 2)', pg_temp.p('fresh')), 'moved to another version as it should be');
select is_empty('select * from bpm.check_invariants()', 'that breaks nothing');
select test.breaks($$delete from bpm_core.audit_event where action = 'MigrateProcess'$$, '{I-21}', 'a migration that nobody asked for');
select test.breaks($$delete from bpm_core.history_event where kind = 'InstanceMigrated'$$, '{I-21}', 'a migration that history does not tell of');
select test.breaks($$delete from bpm_core.instance_migration$$, '{I-21}', 'a migration that left no trace');

-- I-22: the ledger of migrations
select test.breaks($$
  create table if not exists bpm_core.schema_migrations (version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null);
  alter table bpm_core.schema_migrations owner to bpm_owner;
  insert into bpm_core.schema_migrations (version, name, checksum, applied_at) values (9998, 'a', '', now())$$, '{I-22}', 'a gap in the ledger');

-- I-23: commands
select test.breaks($$update bpm_core.outbox set payload = '{"amount": 2}' where workflow_instance_id = pg_temp.w('open')$$, '{I-23}', 'another payload');
select test.breaks($$update bpm_core.outbox set command_id = bpm_core.new_id() where workflow_instance_id = pg_temp.w('open')$$, '{I-23}', 'another command id');
select test.breaks($$
  select pg_temp.tell('half', 'CommandRetried', null, 'book', 'Pending', jsonb_build_object('command', command_id, 'attempt', 1), 'Unknown')
    from bpm_core.outbox where workflow_instance_id = pg_temp.w('half');
  update bpm_core.outbox set state = 'Pending' where workflow_instance_id = pg_temp.w('half')$$, '{I-23}', 'sent again against the profile');
select test.breaks($$update bpm_core.outbox set state = 'Pending' where workflow_instance_id = pg_temp.w('half')$$, '{I-13,I-23}', 'Pending again by itself');
select test.breaks($$update bpm_core.outbox set state = 'Failed' where workflow_instance_id = pg_temp.w('done')$$, '{I-13,I-23}', 'Sent no more');
select test.breaks($$
  update bpm_core.outbox set sequence_key = 'one', state = 'Unknown', worker_id = null, lease_until = null, ended_at = null,
         first_sent_at = coalesce(first_sent_at, created_at) where state <> 'Cancelled'$$, '{I-13,I-23}', 'two of a sequence under way');
select test.breaks($$update bpm_core.delivery_attempt set claimed_at = now() + interval '10 years'$$, '{I-23}', 'sent after the key was forgotten');

-- I-27: counts and orphans
select test.breaks($$update bpm_core.workflow_instance set live_tokens = live_tokens + 1 where id = pg_temp.w('half')$$, '{I-27}', 'a count that is off');
select test.breaks($$update bpm_core.workflow_instance set role_version_id = bpm_core.new_id() where id = pg_temp.w('half')$$, '{I-27}', 'no such role');
select test.breaks($$update bpm_core.token set scope_id = bpm_core.new_id() where id = pg_temp.token('half', 'join')$$, '{I-27}', 'no such scope');
select test.breaks($$update bpm_core.incident set token_id = bpm_core.new_id() where workflow_instance_id = pg_temp.w('dead')$$, '{I-27}', 'an incident of no token');
select test.breaks($$insert into bpm_core.inbox (id, target_kind, target_id, kind, payload, available_at)
  values (bpm_core.new_id(), 'WorkflowInstance', bpm_core.new_id(), 'Message', '{}', now())$$, '{I-27}', 'mail for nobody');
select test.breaks($$update bpm_core.dead_letter set incident_id = bpm_core.new_id()$$, '{I-27}', 'a dead letter of no incident');
select test.breaks($$update bpm_core.message set correlated_to = bpm_core.new_id() where correlation_key = 'half'$$, '{I-27}', 'a message for no wait');
select test.breaks($$update bpm_core.parallel_join_arrival set token_id = bpm_core.new_id() where workflow_instance_id = pg_temp.w('done')$$, '{I-27}', 'an arrival of no token');
select test.breaks($$update bpm_core.outbox set token_id = bpm_core.new_id() where workflow_instance_id = pg_temp.w('open')$$, '{I-27}', 'a command of no token');
select test.breaks($$update bpm_core.task_instance set task_version_id = bpm_core.new_id() where id = pg_temp.task('fresh', 'reserve')$$, '{I-27}', 'a task of no version');
select test.breaks($$update bpm_core.dead_letter set task_instance_id = bpm_core.new_id()$$, '{I-27}', 'a dead letter of no task');
select test.breaks($$update bpm_core.workflow_instance set parent_token_id = bpm_core.new_id(), inputs = '{}' where id = pg_temp.w('half')$$, '{I-27}', 'no such parent');

-- I-27: multi-instances. One of three items has ended; another multi-instance has items to come.
select test.deploy('multi', '<serviceTask id="each" bpm:type="each"><multiInstanceLoopCharacteristics bpm:collection="items"/></serviceTask><endEvent id="end"/>' || test.flows('start>each', 'each>end')) \gset
select test.start('multi', '{"items": [1, 2, 3]}') as mi \gset
select test.complete_next('each') is not null as done \gset
select test.start('multi', (select jsonb_build_object('items', jsonb_agg(n)) from generate_series(1, 1100) n)) as large \gset
select is(test.broken(), '{}', 'all is well with multi-instances');
select test.breaks($$update bpm_core.multi_instance set done = 2 where total = 3$$, '{I-27}', 'counted one too many');
select test.breaks($$update bpm_core.multi_instance set created = 2 where total = 3$$, '{I-27}', 'one more than were begun');
select test.breaks($$delete from bpm_core.inbox where kind = 'Continue'$$, '{I-27}', 'items that nobody begins');
select test.breaks($$delete from bpm_core.multi_instance where total = 1100$$, '{I-27}', 'elements of no multi-instance');
select test.breaks($$update bpm_core.multi_instance set visit = 7 where total = 3$$, '{I-27}', 'a multi-instance of another visit');
select test.breaks(format($$insert into bpm_core.multi_instance (host_token_id, workflow_instance_id, visit, node_id, mode, total, created) values (bpm_core.new_id(), %L, 1, 'each', 'Parallel', 1, 1)$$, pg_temp.w('done')), '{I-12,I-27}', 'one in an instance that has ended');

-- I-28: events
select bpm.set_routing_rule('order', 'order', 'StartProcess', p_process_code => 'line'), bpm.set_routing_rule('spam', 'spam', 'Ignore');
select bpm.accept_event('c', e, e) from unnest('{order,spam,waits}'::text[]) e;
select bpm.run_until_idle();
select is(test.broken(), '{}', 'all is well with events');
select test.breaks($$delete from bpm_core.routing_decision$$, '{I-28}', 'dispatched by nobody');
select test.breaks($$update bpm_core.event set dispatch_state = 'Pending', decided_at = null where provider_event_id = 'order'$$, '{I-28}', 'pending again');
select test.breaks($$update bpm_core.event set dispatch_state = 'Dispatched' where provider_event_id = 'spam'$$, '{I-28}', 'ignored, but called dispatched');
select test.breaks($$update bpm_core.routing_decision set actions = '[{"action": "Ignore"}]'$$, '{I-28}', 'dispatched, but ignored');
select test.breaks($$update bpm_core.event set dispatch_state = 'Failed', reason = 'Error', rules_version = null where provider_event_id = 'waits'$$, '{I-28}', 'failed without a letter');
select test.breaks($$insert into bpm_core.dead_letter (id, event_id, kind, error, created_at) select bpm_core.new_id(), id, 'Event', '"x"', now() from bpm_core.event where provider_event_id = 'waits'$$, '{I-28}', 'a letter about one that did not fail');
select test.breaks($$update bpm_core.event set rules_version = 99 where provider_event_id = 'waits'$$, '{I-28}', 'looked at with rules to come');
select test.breaks($$delete from bpm_core.event_process_instance$$, '{I-28}', 'started by an event that does not know');
select test.breaks($$insert into bpm_core.event_process_instance (event_id, process_instance_id, how, at) select e.id, pg_temp.p('open'), 'Attached', now() from bpm_core.event e where e.provider_event_id = 'spam'$$,
  '{I-28}', 'a link of an event that touched nothing');
-- I-29: slots of quotas
select bpm.set_task_quota('charge', 5), bpm.set_tenant_quota('', 5);
select pg_temp.begin_case('bounded', 1);
select test.complete_next('reserve');
select count(*) from bpm.claim_tasks('worker', '{charge}');
select is(test.broken(), '{}', 'all is well with quotas');
select test.breaks($$update bpm_core.quota_slot set task_instance_id = null where task_type = 'charge'$$, '{I-29}', 'a slot of a type that got lost');
select test.breaks($$delete from bpm_core.quota_slot where task_type = ''$$, '{I-29}', 'slots of a tenant that got lost');
select test.breaks($$update bpm_core.quota_slot set task_instance_id = pg_temp.task('done', 'charge') where slot = 3 and task_type = ''$$, '{I-29}', 'held by a task that has ended');
select test.breaks($$update bpm_core.quota_slot set task_instance_id = pg_temp.task('open', 'charge') where slot = 3 and task_type = 'charge'$$, '{I-29}', 'held by a task that was claimed without');
select test.breaks($$update bpm_core.task_instance set tenant_slot = 4 where state = 'Executing' and tenant_slot is not null$$, '{I-29}', 'under another slot than it holds');
select test.breaks($$update bpm_core.quota_slot set task_type = 'remind' where task_instance_id is not null and task_type = 'charge'$$, '{I-29}', 'under that of another type');

select throws_ok($$update bpm_core.event set reason = null where provider_event_id = 'waits'$$, '23514', null, 'nothing waits without a reason');
select throws_ok($$update bpm_core.event set rules_version = null where provider_event_id = 'waits'$$, '23514', null, 'nor out of sight');

select * from finish();
rollback;

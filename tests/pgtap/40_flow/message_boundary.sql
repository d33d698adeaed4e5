-- Message boundary events: interrupting and not, on every kind of activity that rests; who wins when both come at once (A-10).
begin;
select plan(38);
create function pg_temp.waits(p_process_instance_id uuid) returns text[] language sql as
$$ select coalesce(array_agg(s.node_id || ' ' || s.state || ' ' || s.visit order by s.created_at, s.node_id), '{}') from bpm_core.subscription s where s.workflow_instance_id = test.workflow(p_process_instance_id) $$;
create function pg_temp.send(p_name text, p_key text, p_payload jsonb default '{}') returns text language sql as
$$ select m.state from bpm.correlate_message(p_name, p_key, p_payload) m $$;
create function pg_temp.on_message(p_id text, p_host text, p_interrupting boolean default true, p_more text default '') returns text language sql as
$$ select format('<boundaryEvent id="%s" attachedToRef="%s" cancelActivity="%s" %s><messageEventDefinition messageRef="m"/></boundaryEvent>', p_id, p_host, p_interrupting::text, p_more) $$;
select bpm.set_clock('2031-03-01 08:00:00Z') is not null as set \gset

-- Interrupting
select test.deploy('cut', test.service('work') || pg_temp.on_message('stop', 'work') || test.service('undo') || '<endEvent id="end"/>'
  || test.flows('start>work', 'work>end', 'stop>undo', 'undo>end'), '<message id="m" name="stop"/>') \gset
select test.start('cut', '{}', 'A') as a \gset
select is(test.standing(:'a') || pg_temp.waits(:'a'), '{"work Waiting","stop Open 1"}', 'the wait is open as long as its task');
select is((bpm.get_process(:'a') #> '{waits,0}') - '{subscription_id,token_id,since}'::text[], '{"kind": "Message", "name": "stop", "node_id": "stop", "correlation_key": "A"}'::jsonb, 'and is shown');
select c.* from bpm.claim_tasks('w', '{work}') c \gset a_
select is(pg_temp.send('stop', 'A', '{"why": "no more"}'), 'Correlated', 'the message finds it');
select is(test.standing(:'a') || pg_temp.waits(:'a'), '{"undo Waiting","stop Consumed 1"}', 'the token leaves by it');
select is((select t.state || ' ' || e.state from bpm.task t join bpm.execution e on e.task_id = t.task_id where t.task_id = :'a_task_id'), 'Cancelled Cancelled', 'the task is closed with its attempt');
select is(bpm.get_variables(:'a'), '{"why": "no more"}'::jsonb, 'the payload is patched in');
select is((select i.live_tokens from bpm.instance i where i.process_instance_id = :'a'), 1, 'one token, before and after');
select is((select h.node_id || ' ' || (h.detail - 'message') from bpm.get_history(:'a') h where h.kind = 'MessageReceived'), 'stop {"name": "stop", "variables": {"why": "no more"}}', 'history has it');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'a_task_id', 'fencing_token', 1))) c), 'Cancelled', 'the worker hears it with its answer, which moves nothing (A-10)');
select test.complete_next('undo') as done \gset
select is(test.status(:'a'), 'Completed', 'it ends by that path');
-- The answer first, then the message (A-10)
select test.start('cut', '{}', 'B') as b \gset
select test.complete_next('work') as done \gset
select is(pg_temp.waits(:'b') || test.history(:'b', '%Subscription%'), '{"stop Closed 1","SubscriptionClosed 1"}', 'a task that completes closes the wait');
select is(pg_temp.send('stop', 'B') || test.status(:'b'), 'BufferedCompleted', 'the message meets nobody');
-- A message that was there before the task
select is(pg_temp.send('stop', 'C'), 'Buffered', 'a message before its wait');
select test.start('cut', '{}', 'C') as c \gset
select test.tick('inbox') as done \gset
select is(test.standing(:'c'), '{"undo Waiting"}', 'counts');
-- Closed in every other way
select test.start('cut', '{}', 'D') as d \gset
select bpm.cancel_process(:'d') is not null as cancelled \gset
select is(pg_temp.waits(:'d'), '{"stop Closed 1"}', 'cancelling closes it');
select test.start('cut', '{}', 'E') as e \gset
select test.fail_next('work', false) as failed \gset
select is(test.standing(:'e') || pg_temp.waits(:'e'), '{"work Failed","stop Open 1"}', 'a task that failed for good is still under it');
select pg_temp.send('stop', 'E') as sent \gset
select is(test.standing(:'e') || test.incidents(:'e'), '{"undo Waiting"}', 'it takes the stopped token; the incident is over');
-- In its mailbox when the task completes: it goes back
select test.start('cut', '{}', 'F') as f \gset
insert into bpm_core.message (tenant_id, id, name, correlation_key, content_hash, state, correlated_to, received_at, expires_at)
select '', bpm_core.new_id(), 'stop', 'F', '', 'Correlated', s.id, bpm_core.now(), bpm_core.now() + interval '1 hour' from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'f');
insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
select '', bpm_core.new_id(), 'WorkflowInstance', test.workflow(:'f'), 'Message', jsonb_build_object('message', m.id, 'subscription', m.correlated_to), bpm_core.now() from bpm_core.message m where m.correlation_key = 'F';
select test.complete_next('work') as done \gset
select test.tick('inbox') as applied \gset
select is(test.status(:'f') || (select m.state from bpm.message m where m.correlation_key = 'F'), 'CompletedBuffered', 'a message on its way to a wait that closed is kept for another');

-- Not interrupting: every message counts
select test.deploy('note', test.service('job') || pg_temp.on_message('more', 'job', false, 'bpm:correlationKey="${order}"') || test.service('add') || '<endEvent id="end"/><endEvent id="added"/>'
  || test.flows('start>job', 'job>end', 'more>add', 'add>added'), '<message id="m" name="more"/>') \gset
select test.start('note', '{"order": "N-1"}') as n \gset
select is(pg_temp.send('more', 'N-1', '{"n": 1}') || test.standing(:'n')::text, 'Correlated{"add Waiting","job Waiting"}', 'a second token goes, the first stays');
select is(pg_temp.waits(:'n'), '{"more Consumed 1","more Open 1"}', 'and waits on for the next');
select is((select h.detail ->> 'parent' = t.id::text from bpm.get_history(:'n') h join bpm_core.token t on t.workflow_instance_id = test.workflow(:'n') and t.node_id = 'job' where h.kind = 'TokenBorn'), true, 'history tells of which token it was born');
select is(pg_temp.send('more', 'N-1', '{"n": 2}') || test.standing(:'n')::text, 'Correlated{"add Waiting","add Waiting","job Waiting"}', 'the next message, another token');
select bpm.set_variables(:'n', '{"order": "N-2"}') is not null as changed \gset
select is(pg_temp.send('more', 'N-1', '{"n": 3}') || cardinality(test.standing(:'n')), 'Correlated4', 'by the key the task was entered with');
select test.complete_next('job') as done \gset
select is(pg_temp.waits(:'n'), '{"more Consumed 1","more Consumed 1","more Consumed 1","more Closed 1"}', 'until the task is done');
select test.complete_next('add') as a1, test.complete_next('add') as a2, test.complete_next('add') as a3 \gset
select is(test.status(:'n') || test.visits(:'n', 'added'), 'Completed3', 'the instance ends with the last of them');
-- Several that were there before
select pg_temp.send('more', 'N-3', '{"n": 1}') as one, pg_temp.send('more', 'N-3', '{"n": 2}') as two \gset
select test.start('note', '{"order": "N-3"}') as o \gset
select bpm.run_until_idle() as done \gset
select is(test.standing(:'o'), '{"add Waiting","add Waiting","job Waiting"}', 'buffered ones follow one after the other');
select test.fail_next('job', false) as failed \gset
select is(pg_temp.send('more', 'N-3') || test.standing(:'o')::text, 'Correlated{"add Waiting","add Waiting","add Waiting","job Failed"}', 'also while its task has failed');
select is(pg_temp.send('more', 'N-3'), 'Correlated', 'and waits on');

-- No key: the task is not offered while its token is stopped
select test.start('note') as p \gset
select is(test.standing(:'p') || test.incidents(:'p') || pg_temp.waits(:'p'), '{"job Failed","CorrelationKeyMissing job"}', 'without a key: an incident on the task');
select is((select count(*) from bpm.task t where t.process_instance_id = :'p' and t.state in ('Ready', 'Executing')), 0::bigint, 'which nobody is given');
select bpm.set_variables(:'p', '{"order": "N-4"}') is not null as mended \gset
select bpm.resolve_incident(x.incident_id) is not null as resolved from bpm.incident x where x.process_instance_id = :'p' \gset
select is(test.standing(:'p') || pg_temp.waits(:'p'), '{"job Waiting","more Open 2"}', 'mended, it is entered anew');

-- On user tasks, approvals and receive tasks; beside timers
select test.deploy('kinds', '<userTask id="look"/><serviceTask id="gated" bpm:type="gated" bpm:approval="required"/><receiveTask id="hear" messageRef="h"/><endEvent id="end"/><endEvent id="out"/>'
  || pg_temp.on_message('x1', 'look') || pg_temp.on_message('x2', 'gated') || pg_temp.on_message('x3', 'hear') || test.timer('late', '<timeDuration>PT1H</timeDuration>', 'hear')
  || test.flows('start>look', 'look>end', 'x1>gated', 'gated>end', 'x2>hear', 'hear>end', 'x3>out', 'late>out'), '<message id="m" name="next"/><message id="h" name="heard"/>') \gset
select test.start('kinds', '{}', 'K') as k, test.start('kinds', '{}', 'L') as l \gset
select is(pg_temp.send('next', 'K') || test.standing(:'k')::text, 'Correlated{"gated Waiting"}', 'from a user task');
select is(pg_temp.send('next', 'K') || test.standing(:'k')::text, 'Correlated{"hear Waiting"}', 'from an approval');
select is((select a.status from bpm.approval a where a.process_instance_id = :'k'), 'Cancelled', 'which is closed');
select is(pg_temp.waits(:'k') || test.history(:'k', 'TimerStarted'), '{"x1 Consumed 1","x2 Consumed 2","hear Open 3","x3 Open 3","TimerStarted 1"}', 'a receive task waits for its own message and its events');
select is(pg_temp.send('heard', 'K') || test.status(:'k') || test.history(:'k', '%C%ed')::text, 'CorrelatedCompleted{"TaskCancelled 1","ApprovalClosed 1","TimerCancelled 1","SubscriptionClosed 1","TokenCompleted 1","InstanceCompleted 1"}', 'its message closes them');
select is(pg_temp.send('next', 'L') || pg_temp.send('next', 'L') || pg_temp.send('next', 'L') || test.status(:'l'), 'CorrelatedCorrelatedCorrelatedCompleted', 'or an event closes it');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

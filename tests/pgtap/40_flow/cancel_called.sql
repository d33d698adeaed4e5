-- A process is cancelled while what it called still works (C23, A-18): its root at once, what it called in chunks, and nothing new begins meanwhile. The other
-- direction: a called process that has failed or was given up, and the caller that waits for it.
begin;
select plan(27);
create function pg_temp.called(p uuid) returns text language sql as $$
  select string_agg(x.status || ' ' || x.n, ', ' order by x.status) from (select w.status::text, count(*) as n from bpm_core.workflow_instance w where w.process_instance_id = p and w.parent_token_id is not null group by w.status) x $$;
create function pg_temp.open(p uuid) returns bigint language sql as $$
  select (select count(*) from bpm.task t where t.process_instance_id = p and t.state in ('Ready', 'Executing', 'Held'))
       + (select count(*) from bpm.timer t where t.process_instance_id = p and t.status = 'Scheduled')
       + (select count(*) from bpm_core.subscription s join bpm_core.workflow_instance w on w.id = s.workflow_instance_id where w.process_instance_id = p and s.state = 'Open')
       + (select count(*) from bpm_core.token k join bpm_core.workflow_instance w on w.id = k.workflow_instance_id where w.process_instance_id = p and k.state not in ('Completed', 'Terminated'))
       + (select count(*) from bpm_core.scope s join bpm_core.workflow_instance w on w.id = s.workflow_instance_id where w.process_instance_id = p and s.state = 'Open') $$;

-- Each child has a task in a sub-process with a timer, a wait for a message, and a task for a person
select test.deploy('child', '<parallelGateway id="f"/><subProcess id="sub"><startEvent id="s"/>' || test.service('work') || test.service('next') || '<endEvent id="z"/>' || test.flows('s>work', 'work>next', 'next>z') || '</subProcess>'
  || test.timer('late', '<timeDuration>PT1H</timeDuration>', 'sub') || '<intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m"/></intermediateCatchEvent><userTask id="look"/><endEvent id="e1"/><endEvent id="e2"/><endEvent id="e3"/><endEvent id="e4"/>'
  || test.flows('start>f', 'f>sub', 'f>wait', 'f>look', 'sub>e1', 'wait>e2', 'look>e3', 'late>e4'), '<message id="m" name="go"/>') \gset
select test.deploy('many', '<callActivity id="call" calledElement="child"><multiInstanceLoopCharacteristics><loopCardinality>${n}</loopCardinality></multiInstanceLoopCharacteristics></callActivity><endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('many', '{"n": 40}', 'K') as a \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.called(:'a'), 'Running 40', 'forty called processes');
select t.task_id, t.fencing_token from bpm.claim_tasks('w', '{work}', 1) t \gset
select is((select c.status from bpm.cancel_process(:'a', 'enough', 'ann') c), 'Cancelled', 'cancelled');
select is(test.status(:'a') || ', ' || pg_temp.called(:'a'), 'Cancelled, Running 40', 'the root at once');
select is(test.broken(), '{}', 'nothing is broken meanwhile');
select is((select count(*) from bpm.claim_tasks('w', '{work}', 100)), 0::bigint, 'nothing of it is handed out any more, closed or not');
select bpm.advance_clock('2 s') is not null as moved \gset
select c.tasks from bpm.claim_tasks_at('w', '{work}', 100) c \gset
select is(:'tasks'::jsonb, '[]', 'nor by position');
select is((select c.outcome::text from bpm.complete_task(:'task_id', :fencing_token) c), 'Completed', 'an answer in time still counts');
select is((select count(*) from bpm.claim_tasks('w', '{next}', 100)), 0::bigint, 'but what follows it is not begun');
select is((select string_agg(distinct m.state, ',') from bpm.correlate_message('go', 'K', p_ttl => '0') m), 'Correlated', 'a message meets the oldest wait that is still there');
select bpm.tick(15) is not null as ticked \gset
select is(split_part(pg_temp.called(:'a'), ',', 1) <> 'Cancelled 40' and pg_temp.called(:'a') like 'Cancelled %', true, 'a tick closes a chunk');
select is(test.broken(), '{}', 'nothing is broken between chunks');
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.called(:'a'), 'Cancelled 40', 'until all are closed');
select is(pg_temp.open(:'a'), 0::bigint, 'with everything in them');
select is((select array_agg(distinct h.detail::text) from bpm_core.history_event h join bpm_core.workflow_instance w on w.id = h.workflow_instance_id where w.process_instance_id = :'a' and w.parent_token_id is not null and h.kind = 'InstanceCancelled'), '{"{\"caller\": true}"}', 'history says by whom');
select bpm.advance_clock('2 hours') is not null as later \gset
select is(test.tick('timers'), 0, 'no timer of theirs is due');
select is((select m.state from bpm.correlate_message('go', 'K', p_ttl => '0') m), 'Expired', 'nobody waits for a message');
select is((select count(*) from bpm_core.inbox), 0::bigint, 'and nothing is left in the inbox');

-- One of a fork calls, the instance is taken along by a terminate end, or by an error caught outside
select test.deploy('stops', '<parallelGateway id="f"/><callActivity id="call" calledElement="child"/>' || test.service('stop') || '<endEvent id="end"/><endEvent id="all"><terminateEventDefinition/></endEvent>' || test.flows('start>f', 'f>call', 'f>stop', 'call>end', 'stop>all')) \gset
select test.start('stops', '{}', 'S') as b \gset
select test.complete_next('stop') as done \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'b') || ', ' || pg_temp.called(:'b') || ', ' || pg_temp.open(:'b'), 'Completed, Cancelled 1, 0', 'a terminate end takes along what was called');
select test.deploy('throws', '<subProcess id="box"><startEvent id="s"/><parallelGateway id="f"/><callActivity id="call" calledElement="child"/>' || test.service('risky') || '<endEvent id="z1"/><endEvent id="z2"/>' || test.flows('s>f', 'f>call', 'f>risky', 'call>z1', 'risky>z2')
  || '</subProcess><boundaryEvent id="bad" attachedToRef="box"><errorEventDefinition errorRef="E"/></boundaryEvent>' || test.service('fix') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>box', 'box>end', 'bad>fix', 'fix>end2'), '<error id="E" errorCode="bad"/>') \gset
select test.start('throws', '{}', 'T') as c \gset
select test.throw_next('risky', 'bad') as thrown \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'c')::text || ', ' || pg_temp.called(:'c'), '{"fix Waiting"}, Cancelled 1', 'so does an error beside it');

-- The caller leaves by hand: what it called is closed, its end is not waited for
select test.start('stops', '{}', 'L') as d \gset
select k.id as host from bpm_core.token k where k.node_id = 'call' and k.state = 'Waiting' and k.workflow_instance_id = test.workflow(:'d') \gset
select s.state from bpm.skip_node(:'host') s \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'d')::text || ', ' || pg_temp.called(:'d'), '{"stop Waiting"}, Cancelled 1', 'a call that is skipped is cancelled below');
select test.complete_next('stop') as done \gset
select is(test.status(:'d'), 'Completed', 'and its caller ends without it');

-- The other direction: what is called has failed, its caller waits; an incident there, resolved by calling anew
select test.deploy('frail', test.service('risky') || '<endEvent id="e"/>' || test.flows('start>risky', 'risky>e')) \gset
select test.deploy('caller', '<callActivity id="call" calledElement="frail"/><endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('caller') as e \gset
select w.id as child from bpm_core.workflow_instance w where w.process_instance_id = :'e' and w.parent_token_id is not null \gset
select bpm_core.terminate_instances('', array[:'child'::uuid], 'Cancelled', '{"reason": "given up"}') \gset
select is(test.standing(:'e')::text || test.broken()::text, '{"call Waiting"}{}', 'a called process that was given up: its caller is told through the inbox');
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'e')::text || test.incidents(:'e')::text, '{"call Failed"}{"CalledProcessFailed call"}', 'it does not wait for ever: an incident');
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'e' and i.state = 'Open' \gset
select is(pg_temp.called(:'e'), 'Cancelled 1, Running 1', 'resolved, it calls anew');
select test.complete_next('risky') as done \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'e'), 'Completed', 'and ends');
select is((select count(*) from bpm_core.inbox), 0::bigint, 'nothing is left in the inbox');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;

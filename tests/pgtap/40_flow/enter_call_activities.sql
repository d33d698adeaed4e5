-- Call activities: a process calls another; what goes down, what comes back, errors up, cancel down, how deep.
begin;
select plan(39);
create function pg_temp.called(p uuid) returns text[] language sql as
$$ select coalesce(array_agg(d.code || ' ' || w.depth || ' ' || w.status order by w.depth, d.code, w.id), '{}') from bpm_core.workflow_instance w join bpm_core.workflow_version v on v.id = w.workflow_version_id join bpm_core.workflow_definition d on d.id = v.definition_id where w.process_instance_id = p $$;
create function pg_temp.live(p uuid) returns text[] language sql as
$$ select coalesce(array_agg(k.node_id || ' ' || k.state order by k.node_id collate "C"), '{}') from bpm_core.token k join bpm_core.workflow_instance w on w.id = k.workflow_instance_id where w.process_instance_id = p and k.state not in ('Completed', 'Terminated') $$;
create function pg_temp.call(p_id text, p_code text, p_inside text default '', p_more text default '') returns text language sql as
$$ select format('<callActivity id="%s" calledElement="%s" %s xmlns:camunda="http://camunda.org/schema/1.0/bpmn" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">%s</callActivity>', p_id, p_code, p_more, case when p_inside <> '' then '<extensionElements>' || p_inside || '</extensionElements>' else '' end) $$;
create function pg_temp.replayed(p uuid) returns boolean language sql as
$$ select not exists (select from bpm_core.workflow_instance w cross join lateral bpm.replay(w.id) r join bpm_core.token k on k.id = r.token_id where w.process_instance_id = p and (k.node_id, k.state::text) is distinct from (r.node_id, r.state)) $$;

select test.deploy('child', test.service('work') || '<endEvent id="done"/>' || test.flows('start>work', 'work>done')) \gset
select test.deploy('plain', pg_temp.call('call', 'child') || test.service('after') || '<endEvent id="end"/>' || test.flows('start>call', 'call>after', 'after>end')) \gset
select test.start('plain', '{"x": 1}', 'K') as a \gset
select is(pg_temp.live(:'a') || pg_temp.called(:'a'), '{"call Waiting","work Waiting","plain 0 Running","child 1 Running"}', 'the caller waits, the called one works');
select is((select t.variables || jsonb_build_object('key', t.business_key) from bpm.claim_tasks('w', '{work}') t), '{"x": 1, "key": "K"}'::jsonb, 'it sees what its caller sees, and has its business key');
select is((select c.outcome::text from bpm_core.task_instance t cross join lateral bpm.complete_task(t.id, t.fencing_token, '{"y": 2}') c where t.state = 'Executing'), 'Completed', 'its step completes');
select is(pg_temp.called(:'a'), '{"plain 0 Running","child 1 Completed"}', 'the called one has ended');
select is(pg_temp.live(:'a'), '{"call Waiting"}', 'the caller hears of it at the next tick');
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'a') || bpm.get_variables(:'a')::text, '{"after Waiting","{\"x\": 1, \"y\": 2}"}', 'and goes on, with what the steps wrote');
select ok(pg_temp.replayed(:'a'), 'replay');
select test.complete_next('after') as done \gset
select is(test.status(:'a') || test.history(:'a', 'Call%')::text, 'Completed{"CallStarted 1","CallCompleted 1"}', 'to the end');

-- Nothing waits inside: one tick
select test.deploy('empty', '<endEvent id="e"/>' || test.flows('start>e')) \gset
select test.deploy('twice', pg_temp.call('c1', 'empty') || pg_temp.call('c2', 'empty') || '<endEvent id="end"/>' || test.flows('start>c1', 'c1>c2', 'c2>end')) \gset
select test.start('twice') as b \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'b') || pg_temp.called(:'b')::text, 'Completed{"twice 0 Completed","empty 1 Completed","empty 1 Completed"}', 'one after the other');

-- Mappings
select test.deploy('mapped', pg_temp.call('call', 'child', '<camunda:in source="x" target="a"/><camunda:in sourceExpression="${x + 1}" target="b"/><camunda:out source="y" target="z"/><camunda:out sourceExpression="${a}" target="back"/>') || '<endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('mapped', '{"x": 1}') as c \gset
select is((select t.variables from bpm.claim_tasks('w', '{work}') t), '{"a": 1, "b": 2}'::jsonb, 'only what is mapped goes in');
select is((select c.outcome::text from bpm_core.task_instance t cross join lateral bpm.complete_task(t.id, t.fencing_token, '{"y": 3, "x": 9}') c where t.state = 'Executing'), 'Completed', 'its step writes');
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'c') || bpm.get_variables(:'c')::text, 'Completed{"x": 1, "z": 3, "back": 1}', 'only what is mapped comes back');
select test.deploy('zeebe', pg_temp.call('call', '', '<zeebe:calledElement processId="child" propagateAllChildVariables="false"/><zeebe:ioMapping><zeebe:input source="=x" target="a"/></zeebe:ioMapping>') || '<endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('zeebe', '{"x": 1}') as d \gset
select is((select t.variables from bpm.claim_tasks('w', '{work}') t), '{"a": 1, "x": 1}'::jsonb, 'Zeebe: all and the inputs');
select is((select c.outcome::text from bpm_core.task_instance t cross join lateral bpm.complete_task(t.id, t.fencing_token, '{"y": 3}') c where t.state = 'Executing'), 'Completed', 'its step writes');
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'d') || bpm.get_variables(:'d')::text, 'Completed{"x": 1}', 'nothing comes back');
select test.deploy('lost', pg_temp.call('call', 'child', '<camunda:in sourceExpression="${x + 1}" target="a"/>') || '<endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('lost', '{"x": "one"}') as e \gset
select is((select i.code || ' ' || i.node_id || ' ' || (i.detail #>> '{mapping,target}') from bpm.incident i where i.process_instance_id = :'e'), 'ExpressionUndecidable call a', 'a mapping without a value');
select bpm.set_variables(:'e', '{"x": 1}') is not null as mended \gset
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'e' \gset
select is(pg_temp.live(:'e'), '{"call Waiting","work Waiting"}', 'mended, it calls');

-- Versions
select test.deploy('later', pg_temp.call('call', 'not_yet') || '<endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('later') as f \gset
select is((select i.code || ' ' || (i.detail ->> 'process') from bpm.incident i where i.process_instance_id = :'f'), 'CalledProcessMissing not_yet', 'nothing to call: an incident');
select test.deploy('not_yet', '<endEvent id="e"/>' || test.flows('start>e')) \gset
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'f' \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'f'), 'Completed', 'deployed, it goes on');
select count(*) from bpm.deploy_bpmn(format('<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t" xmlns:camunda="http://camunda.org/schema/1.0/bpmn"><process id="outer" isExecutable="true"><startEvent id="start"/>%s<endEvent id="end"/>%s</process><process id="inner" isExecutable="true"><startEvent id="s2"/><serviceTask id="old"/><endEvent id="e2"/>%s</process></definitions>',
  pg_temp.call('call', 'inner', '', 'camunda:calledElementBinding="deployment"'), test.flows('start>call', 'call>end'), test.flows('s2>old', 'old>e2'))) \gset
select test.deploy('inner', test.service('new') || '<endEvent id="e2"/>' || test.flows('start>new', 'new>e2')) \gset
select test.start('outer') as g \gset
select is(pg_temp.live(:'g'), '{"call Waiting","old Waiting"}', 'deployment: the version that came with it');
select bpm.deploy_bpmn(test.bpmn('second', '<startEvent id="start"/><endEvent id="end"/>' || pg_temp.call('call', 'inner', '', 'camunda:calledElementBinding="version" camunda:calledElementVersion="2"') || test.flows('start>call', 'call>end'))) is not null as deployed \gset
select test.start('second') as h \gset
select is(pg_temp.live(:'h'), '{"call Waiting","new Waiting"}', 'version: that one');

-- Errors up
select test.deploy('breaks', test.service('risky') || '<exclusiveGateway id="x" default="x_ok"/><endEvent id="ok"/><endEvent id="bang"><errorEventDefinition errorRef="E"/></endEvent><sequenceFlow id="x_bang" sourceRef="x" targetRef="bang"><conditionExpression>${bad == true}</conditionExpression></sequenceFlow>' || test.flows('start>risky', 'risky>x', 'x>ok'), '<error id="E" errorCode="boom"/>') \gset
select test.deploy('middle', pg_temp.call('mid', 'breaks') || '<endEvent id="end"/>' || test.flows('start>mid', 'mid>end')) \gset
select test.deploy('catches', pg_temp.call('call', 'middle') || '<boundaryEvent id="caught" attachedToRef="call"><errorEventDefinition errorRef="E"/></boundaryEvent>' || test.service('fix') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>call', 'call>end', 'caught>fix', 'fix>end2'), '<error id="E" errorCode="boom"/>') \gset
select test.start('catches') as i \gset
select test.complete_next('risky', '{"bad": true}') as done \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'i') || pg_temp.called(:'i'), '{"fix Waiting","catches 0 Running","middle 1 Failed","breaks 2 Failed"}', 'an error end two calls down is caught at the top');
select ok(pg_temp.replayed(:'i'), 'replay');
select is((select string_agg(h.kind, ',') from bpm.get_history(:'i') h where h.node_id = 'bang'), 'TokenCompleted', 'history tells at which end event');
select test.start('catches') as j \gset
select is((select r.outcome::text from bpm.claim_tasks('w', '{risky}') t cross join lateral bpm.throw_error(t.task_id, t.fencing_token, 'boom', 'oh') r), 'Done', 'a worker''s error is caught there, too');
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'j'), '{"fix Waiting"}', 'and goes on from there');
select test.start('middle') as k \gset
select test.complete_next('risky', '{"bad": true}') as done \gset
select bpm.run_until_idle() as ticks \gset
select is((select string_agg(i.code || ' ' || i.node_id, ',') from bpm.incident i where i.process_instance_id = :'k') || pg_temp.called(:'k')::text, 'UncaughtError bang{"middle 0 Running","breaks 1 Running"}', 'nobody catches it: it stands where it was thrown, and can be mended there');

-- Cancel down
select bpm.cancel_process(:'k') is not null as gone \gset
select is(pg_temp.called(:'k'), '{"middle 0 Cancelled","breaks 1 Running"}', 'the root at once');
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.called(:'k') || pg_temp.live(:'k'), '{"middle 0 Cancelled","breaks 1 Cancelled"}', 'and what it called');
select test.deploy('timed', pg_temp.call('call', 'middle') || test.timer('late', '<timeDuration>PT1H</timeDuration>', 'call') || test.service('instead') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>call', 'call>end', 'late>instead', 'instead>end2')) \gset
select test.start('timed') as l \gset
select is(pg_temp.called(:'l'), '{"timed 0 Running","middle 1 Running","breaks 2 Running"}', 'two calls deep');
select bpm.advance_clock('2 hours') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.called(:'l') || pg_temp.live(:'l'), '{"timed 0 Running","middle 1 Cancelled","breaks 2 Cancelled","instead Waiting"}', 'a boundary timer cancels them');

-- Ends in the same moment as its caller stops waiting
select test.start('timed') as m \gset
select test.complete_next('risky') as done \gset
select bpm.advance_clock('2 hours') is not null as later \gset
select bpm_core.fire_timers('', array(select t.id from bpm_core.timer t where t.workflow_instance_id = test.workflow(:'m')), bpm_core.now()) as fired \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'m'), '{"instead Waiting"}', 'a late answer finds nobody');

-- Escalation
select test.deploy('up', '<intermediateThrowEvent id="say"><escalationEventDefinition escalationRef="S"/></intermediateThrowEvent>' || test.service('go') || '<endEvent id="e"/>' || test.flows('start>say', 'say>go', 'go>e'), '<escalation id="S" escalationCode="s"/>') \gset
select test.deploy('hears', pg_temp.call('call', 'up') || '<boundaryEvent id="soft" attachedToRef="call" cancelActivity="false"><escalationEventDefinition escalationRef="S"/></boundaryEvent>' || test.service('tell') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>call', 'call>end', 'soft>tell', 'tell>end2'), '<escalation id="S" escalationCode="s"/>') \gset
select test.start('hears') as n \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'n'), '{"call Waiting","go Waiting","tell Waiting"}', 'an escalation reaches the caller');

-- Too deep
select bpm.set_setting('engine.max_call_depth', '20') is not null as set \gset
select test.deploy('endless', pg_temp.call('again', 'endless') || '<endEvent id="end"/>' || test.flows('start>again', 'again>end')) \gset
select test.start('endless') as o \gset
select bpm.run_until_idle() as ticks \gset
select is((select string_agg(i.code || ' ' || (i.detail ->> 'depth'), ',') from bpm.incident i where i.process_instance_id = :'o'), 'CallTooDeep 21', 'a process that calls itself ends in a bound');
select is((select count(*) from bpm_core.workflow_instance w where w.process_instance_id = :'o'), 21::bigint, 'with as many instances as allowed');
select bpm.cancel_process(:'o') is not null as gone \gset
select bpm.run_until_idle() as ticks \gset
select is((select count(*) from bpm_core.workflow_instance w where w.process_instance_id = :'o' and w.status <> 'Cancelled'), 0::bigint, 'and can be cancelled, to the bottom');

-- Faults
select is((select array_agg(c.code order by c.code) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/><endEvent id="end"/><callActivity id="c1"/>' || pg_temp.call('c2', 'x', '', 'camunda:calledElementBinding="versionTag"') || pg_temp.call('c3', 'x', '<camunda:in sourceExpression="${a b}" target="t"/>') || test.flows('start>c1', 'c1>c2', 'c2>c3', 'c3>end'))) c where c.severity = 'fault'),
  '{InvalidCondition,UnknownReference,UnsupportedElement}', 'nothing to call, an unknown binding, a mapping that cannot be read');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select ok(pg_temp.replayed(:'l') and pg_temp.replayed(:'m') and pg_temp.replayed(:'n'), 'replay');
select * from finish();
rollback;

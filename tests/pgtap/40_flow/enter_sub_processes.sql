-- Sub-processes: a scope with a host; how it begins, ends, is interrupted, and who catches what is thrown inside.
begin;
select plan(47);
create function pg_temp.sub(p_id text, p_inside text, p_more text default '') returns text language sql as
$$ select format('<subProcess id="%1$s" %3$s><startEvent id="%1$s-start"/>%2$s<endEvent id="%1$s-end"/></subProcess>', p_id, p_inside, p_more) $$;
create function pg_temp.scopes(p uuid) returns text[] language sql as
$$ select coalesce(array_agg(s.node_id || ' ' || s.state || ' ' || s.live_tokens order by s.node_id, s.state), '{}') from bpm_core.scope s where s.workflow_instance_id = test.workflow(p) $$;
create function pg_temp.replayed(p uuid) returns boolean language sql as
$$ select not exists (select r.token_id::text, r.node_id, r.state from bpm.replay(test.workflow(p)) r
                      except select k.id::text, k.node_id, k.state::text from bpm_core.token k where k.workflow_instance_id = test.workflow(p)) $$;

-- Through, with a task inside
select test.deploy('one', pg_temp.sub('sub', test.service('work') || test.flows('sub-start>work', 'work>sub-end')) || test.service('after') || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>after', 'after>end')) \gset
select test.start('one', '{"x": 1}') as a \gset
select is(test.standing(:'a') || pg_temp.scopes(:'a'), '{"sub Waiting","work Waiting","sub Open 1"}', 'the host rests, a token is inside');
select is((select w.live_tokens::integer from bpm_core.workflow_instance w where w.id = test.workflow(:'a')), 2, 'both are live');
select ok(pg_temp.replayed(:'a'), 'replay says so');
select test.complete_next('work', '{"x": 2, "y": 3}') as done \gset
select is(test.standing(:'a') || pg_temp.scopes(:'a'), '{"after Waiting","sub Completed 0"}', 'its last token ends it, the host goes on');
select is(bpm.get_variables(:'a'), '{"x": 2, "y": 3}'::jsonb, 'what the inner step wrote is there, without a mapping');
select test.complete_next('after') as done \gset
select is(test.status(:'a'), 'Completed', 'to the end');
select is(test.history(:'a', 'ScopeOpened') || test.history(:'a', 'ScopeCompleted'), '{"ScopeOpened 1","ScopeCompleted 1"}', 'history has both');

-- Several tokens inside; two instances in one call
select test.deploy('fan', pg_temp.sub('sub', '<parallelGateway id="fork"/>' || test.service('a') || test.service('b') || '<endEvent id="e2"/>' || test.flows('sub-start>fork', 'fork>a', 'fork>b', 'a>sub-end', 'b>e2')) || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>end')) \gset
select test.start('fan') as b \gset
select is(pg_temp.scopes(:'b'), '{"sub Open 2"}', 'two branches, without a join');
select test.complete_next('a') as done \gset
select is(test.status(:'b') || pg_temp.scopes(:'b')::text, 'Running{"sub Open 1"}', 'one ends');
select test.complete_next('b') as done \gset
select is(test.status(:'b'), 'Completed', 'the last one ends the scope');

-- Nested, nothing waits inside: all in one command
select test.deploy('deep', pg_temp.sub('s1', pg_temp.sub('s2', pg_temp.sub('s3', test.flows('s3-start>s3-end')) || test.flows('s2-start>s3', 's3>s2-end')) || test.flows('s1-start>s2', 's2>s1-end')) || '<endEvent id="end"/>' || test.flows('start>s1', 's1>end')) \gset
select test.start('deep') as c \gset
select is(test.status(:'c') || pg_temp.scopes(:'c')::text, 'Completed{"s1 Completed 0","s2 Completed 0","s3 Completed 0"}', 'three deep');

-- A loop through a sub-process in which nothing waits ends as an incident
select test.deploy('loop', '<exclusiveGateway id="m"/>' || pg_temp.sub('sub', test.flows('sub-start>sub-end')) || '<exclusiveGateway id="x" default="x_m"/><endEvent id="end"/><sequenceFlow id="x_end" sourceRef="x" targetRef="end"><conditionExpression>${out == 1}</conditionExpression></sequenceFlow>' || test.flows('start>m', 'm>sub', 'sub>x', 'x>m')) \gset
select bpm.set_setting('engine.loop_budget', '2000') is not null as set \gset
select test.start('loop', '{"out": 0}') as d \gset
select bpm.run_until_idle() as ticks \gset
select is((select i.code from bpm.incident i where i.process_instance_id = :'d'), 'LoopBudget', 'an endless loop through a sub-process');
select bpm.cancel_process(:'d') is not null as gone \gset
select is(test.status(:'d') || (select count(*) from bpm_core.scope s where s.state = 'Open'), 'Cancelled0', 'cancelled with its scopes');

-- Terminate ends its own scope only
select test.deploy('term', '<parallelGateway id="f"/>' || pg_temp.sub('sub', '<parallelGateway id="fork"/>' || test.service('a') || pg_temp.sub('inner', test.service('b') || test.flows('inner-start>b', 'b>inner-end')) || '<endEvent id="stop"><terminateEventDefinition/></endEvent>' || test.flows('sub-start>fork', 'fork>a', 'fork>inner', 'a>stop', 'inner>sub-end'))
  || test.service('beside') || test.service('after') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>f', 'f>sub', 'f>beside', 'sub>after', 'after>end', 'beside>end2')) \gset
select test.start('term') as e \gset
select test.complete_next('a') as done \gset
select is(test.standing(:'e') || pg_temp.scopes(:'e'), '{"after Waiting","beside Waiting","inner Cancelled 0","sub Completed 0"}', 'terminate: what is inside goes, what is beside stays');
select is((select array_agg(t.node_id || ' ' || t.state order by t.node_id) from bpm_core.task_instance t where t.workflow_instance_id = test.workflow(:'e')), '{"a Completed","after Ready","b Cancelled","beside Ready"}', 'tasks inside are cancelled');
select ok(pg_temp.replayed(:'e'), 'replay');

-- A boundary timer of a sub-process
select test.deploy('timed', pg_temp.sub('sub', test.service('slow') || test.flows('sub-start>slow', 'slow>sub-end')) || '<boundaryEvent id="late" attachedToRef="sub"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>' || test.service('undo') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>sub', 'sub>end', 'late>undo', 'undo>end2')) \gset
select test.start('timed') as f \gset
select bpm.advance_clock(interval '2 hours') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'f') || pg_temp.scopes(:'f'), '{"undo Waiting","sub Cancelled 0"}', 'interrupts everything inside');
select ok(pg_temp.replayed(:'f'), 'replay');
select test.start('timed') as g \gset
select test.complete_next('slow') as done \gset
select is(test.status(:'g') || (select string_agg(t.status::text, ',') from bpm_core.timer t where t.workflow_instance_id = test.workflow(:'g')), 'CompletedCancelled', 'in time: the timer is gone');

-- Errors go outwards
select test.deploy('err', pg_temp.sub('outer', pg_temp.sub('inner', test.service('try') || '<exclusiveGateway id="x" default="x_inner-end"/><endEvent id="bang"><errorEventDefinition errorRef="E1"/></endEvent><sequenceFlow id="x_bang" sourceRef="x" targetRef="bang"><conditionExpression>${bad == true}</conditionExpression></sequenceFlow>' || test.flows('inner-start>try', 'try>x', 'x>inner-end')) || test.flows('outer-start>inner', 'inner>outer-end'))
  || '<boundaryEvent id="any" attachedToRef="outer"><errorEventDefinition/></boundaryEvent><boundaryEvent id="e1" attachedToRef="outer"><errorEventDefinition errorRef="E1"/></boundaryEvent>' || test.service('fix') || test.service('fix1') || '<endEvent id="end"/><endEvent id="end2"/><endEvent id="end3"/>'
  || test.flows('start>outer', 'outer>end', 'any>fix', 'fix>end2', 'e1>fix1', 'fix1>end3'), '<error id="E1" errorCode="one"/>') \gset
select test.start('err') as h \gset
select test.complete_next('try', '{"bad": true}') as done \gset
select is(test.standing(:'h') || pg_temp.scopes(:'h'), '{"fix1 Waiting","inner Cancelled 0","outer Cancelled 0"}', 'an error end two scopes in: the boundary with the code');
select ok(pg_temp.replayed(:'h'), 'replay');
select test.start('err') as i \gset
select t.task_id, t.fencing_token from bpm.claim_tasks('w', '{try}') t \gset
select is((select t.outcome::text from bpm.throw_error(:'task_id', :fencing_token, 'two') t) || test.standing(:'i')::text, 'Done{"fix Waiting"}', 'a worker''s error of another code: the one that catches all');
select test.deploy('err0', pg_temp.sub('sub', '<endEvent id="bang"><errorEventDefinition errorRef="E1"/></endEvent><parallelGateway id="k"/>' || test.flows('sub-start>k', 'k>bang', 'k>sub-end')) || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>end'), '<error id="E1" errorCode="one"/>') \gset
select test.start('err0') as j \gset
select is((select string_agg(i.code || ' ' || i.node_id, ',') from bpm.incident i where i.process_instance_id = :'j') || test.standing(:'j')::text, 'UncaughtError bang{"bang Failed","sub Waiting"}', 'nobody catches it: an incident where it was thrown');

-- Escalation: beside, or instead
select test.deploy('esc', pg_temp.sub('sub', '<intermediateThrowEvent id="up"><escalationEventDefinition escalationRef="S"/></intermediateThrowEvent>' || test.service('go') || test.flows('sub-start>up', 'up>go', 'go>sub-end')) || '<boundaryEvent id="soft" attachedToRef="sub" cancelActivity="false"><escalationEventDefinition escalationRef="S"/></boundaryEvent>' || test.service('tell') || '<endEvent id="end"/><endEvent id="end2"/>'
  || test.flows('start>sub', 'sub>end', 'soft>tell', 'tell>end2'), '<escalation id="S" escalationCode="s"/>') \gset
select test.start('esc') as k \gset
select is(test.standing(:'k'), '{"go Waiting","sub Waiting","tell Waiting"}', 'not interrupting: both');
select ok(pg_temp.replayed(:'k'), 'replay');
select test.deploy('esc2', replace(pg_temp.sub('sub', '<intermediateThrowEvent id="up"><escalationEventDefinition escalationRef="S"/></intermediateThrowEvent>' || test.service('go') || test.flows('sub-start>up', 'up>go', 'go>sub-end')), 'x', 'x') || '<boundaryEvent id="hard" attachedToRef="sub"><escalationEventDefinition/></boundaryEvent>' || test.service('tell') || '<endEvent id="end"/><endEvent id="end2"/>'
  || test.flows('start>sub', 'sub>end', 'hard>tell', 'tell>end2'), '<escalation id="S" escalationCode="s"/>') \gset
select test.start('esc2') as l \gset
select is(test.standing(:'l') || pg_temp.scopes(:'l'), '{"tell Waiting","sub Cancelled 0"}', 'interrupting: the thrower is gone');
select ok(pg_temp.replayed(:'l'), 'replay');

-- Event sub-processes
select test.deploy('evt', pg_temp.sub('sub', test.service('main') || test.flows('sub-start>main', 'main>sub-end')
  || '<subProcess id="on-msg" triggeredByEvent="true"><startEvent id="msg" isInterrupting="false"><messageEventDefinition messageRef="m"/></startEvent>' || test.service('note') || '<endEvent id="msg-end"/>' || test.flows('msg>note', 'note>msg-end') || '</subProcess>'
  || '<subProcess id="on-time" triggeredByEvent="true"><startEvent id="time"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></startEvent>' || test.service('hurry') || '<endEvent id="time-end"/>' || test.flows('time>hurry', 'hurry>time-end') || '</subProcess>')
  || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>end'), '<message id="m" name="hello"/>') \gset
select test.start('evt', p_business_key => 'K1') as m \gset
select is((select m.state from bpm.correlate_message('hello', 'K1', '{"n": 1}') m) || test.standing(:'m')::text, 'Correlated{"main Waiting","note Waiting","on-msg Waiting","sub Waiting"}', 'a message begins one beside');
select is((select m.state from bpm.correlate_message('hello', 'K1', '{"n": 2}') m) || pg_temp.scopes(:'m')::text, 'Correlated{"on-msg Open 1","on-msg Open 1","sub Open 3"}', 'and again');
select ok(pg_temp.replayed(:'m'), 'replay');
select test.complete_next('note') as done \gset
select test.complete_next('main') as done \gset
select is(test.status(:'m') || pg_temp.scopes(:'m')::text, 'Running{"on-msg Completed 0","on-msg Open 1","sub Open 1"}', 'the scope around waits for what was begun in it');
select bpm.advance_clock(interval '2 hours') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'m') || pg_temp.scopes(:'m'), '{"hurry Waiting","on-time Waiting","sub Waiting","on-msg Cancelled 0","on-msg Completed 0","on-time Open 1","sub Open 1"}', 'an interrupting one ends the others first');
select is((select m.state from bpm.correlate_message('hello', 'K1', '{}', '0') m), 'Expired', 'and nothing else begins any more');
select ok(pg_temp.replayed(:'m'), 'replay');
select test.complete_next('hurry') as done \gset
select is(test.status(:'m'), 'Completed', 'and goes on behind the sub-process');

-- At the root of a process
select test.deploy('root', test.service('work') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')
  || '<subProcess id="on-error" triggeredByEvent="true"><startEvent id="caught"><errorEventDefinition errorRef="E1"/></startEvent>' || test.service('mend') || '<endEvent id="again"><errorEventDefinition errorRef="E1"/></endEvent>' || test.flows('caught>mend', 'mend>again') || '</subProcess>', '<error id="E1" errorCode="one"/>') \gset
select test.start('root') as n \gset
select is(test.standing(:'n'), '{"root:body Waiting","work Waiting"}', 'the inside of the process is a scope');
select t.task_id, t.fencing_token from bpm.claim_tasks('w', '{work}') t \gset
select is((select t.outcome::text from bpm.throw_error(:'task_id', :fencing_token, 'one') t) || test.standing(:'n')::text, 'Done{"mend Waiting","on-error Waiting","root:body Waiting"}', 'an error begins it, and ends the rest');
select test.complete_next('mend') as done \gset
select is((select string_agg(i.code || ' ' || i.node_id, ',') from bpm.incident i where i.process_instance_id = :'n' and i.state = 'Open'), 'UncaughtError again', 'what it throws itself it does not catch');
select ok(pg_temp.replayed(:'n'), 'replay');
select test.start('root') as o \gset
select test.complete_next('work') as done \gset
select is(test.status(:'o'), 'Completed', 'undisturbed it ends as ever');

-- What is refused
select is((select array_agg(c.code || ' ' || c.node_id order by c.node_id) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/><endEvent id="end"/>' || test.flows('start>sub', 'sub>end', 'es>end')
  || '<subProcess id="sub"><startEvent id="in"><timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition></startEvent><endEvent id="out"/>' || test.flows('in>out') || '</subProcess>'
  || '<subProcess id="es" triggeredByEvent="true"><startEvent id="plain"/><endEvent id="o2"/>' || test.flows('plain>o2') || '</subProcess><boundaryEvent id="bnd" attachedToRef="es"><timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition></boundaryEvent>' || test.flows('bnd>end'))) c where c.severity = 'fault'),
  '{"UnsupportedElement bnd","UnsupportedElement es","UnsupportedElement in","UnsupportedElement in","UnsupportedElement plain","UnsupportedElement plain"}', 'a trigger where none may be, none where one must be, flows and boundaries of an event sub-process');
create function pg_temp.nested(p_event text) returns text language sql as
$$ select test.bpmn('nested', '<startEvent id="start"/>' || test.service('a') || '<endEvent id="end"/>' || test.flows('start>a', 'a>end')
  || '<subProcess id="es" triggeredByEvent="true"><startEvent id="s1"><errorEventDefinition/></startEvent>' || test.service('b') || '<endEvent id="o1"/>' || test.flows('s1>b', 'b>o1')
  || '<subProcess id="es2" triggeredByEvent="true"><startEvent id="s2">' || p_event || '</startEvent><endEvent id="o2"/>' || test.flows('s2>o2') || '</subProcess></subProcess>') $$;
select is((select array_agg(c.code || ' ' || c.node_id) from bpm.check_bpmn(pg_temp.nested('<timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition>')) c where c.severity = 'fault'), '{"UnsupportedElement s2"}',
  'one event sub-process in the other: it would not be waited for');
select is((select count(*) from bpm.check_bpmn(pg_temp.nested('<errorEventDefinition/>')) c where c.severity = 'fault'), 0::bigint, 'but what is thrown finds it');

-- 250 deep
select test.deploy('abyss', (select string_agg(format('<subProcess id="s%1$s"><startEvent id="a%1$s"/><endEvent id="e%1$s"/>', n) || test.flows(format('a%s>s%s', n, n + 1), format('s%s>e%s', n + 1, n)), '' order by n) from generate_series(1, 119) n)
  || '<subProcess id="s120"><startEvent id="a120"/>' || test.service('bottom') || '<endEvent id="e120"/>' || test.flows('a120>bottom', 'bottom>e120') || repeat('</subProcess>', 120) || '<endEvent id="end"/>' || test.flows('start>s1', 's1>end')) \gset
select test.start('abyss') as p \gset
select is((select count(*) from bpm_core.scope s where s.workflow_instance_id = test.workflow(:'p') and s.state = 'Open'), 120::bigint, '120 scopes, one in the other');
select test.complete_next('bottom') as done \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'p'), 'Completed', 'and out again');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select ok(pg_temp.replayed(:'e') and pg_temp.replayed(:'p'), 'replay');
select * from finish();
rollback;

-- Conditional events: a token waits until something is true of its variables; catch, boundary, event-based gateway, event sub-process.
begin;
select plan(25);
create function pg_temp.cond(p_tag text, p_id text, p_condition text, p_more text default '') returns text language sql as
$$ select format('<%1$s id="%2$s" %4$s><conditionalEventDefinition><condition>%3$s</condition></conditionalEventDefinition></%1$s>', p_tag, p_id, replace(p_condition, '<', '&lt;'), p_more) $$;
create function pg_temp.waits(p uuid) returns text[] language sql as
$$ select coalesce(array_agg(s.node_id || ' ' || s.state order by s.node_id, s.created_at), '{}') from bpm_core.subscription s where s.workflow_instance_id = test.workflow(p) $$;

select test.deploy('wait', pg_temp.cond('intermediateCatchEvent', 'until', '${stock > 10}') || test.service('go') || '<endEvent id="end"/>' || test.flows('start>until', 'until>go', 'go>end')) \gset
select test.start('wait', '{"stock": 11}') as a \gset
select is(test.standing(:'a'), '{"go Waiting"}', 'true already: passed');
select test.start('wait') as b \gset
select is(test.standing(:'b') || test.incidents(:'b'), '{"until Waiting"}', 'not there yet: it waits, and that is no incident');
select bpm.set_variables(:'b', '{"stock": 3}') as set \gset
select is(test.standing(:'b'), '{"until Waiting"}', 'not true yet');
select bpm.set_variables(:'b', '{"stock": 30}') as set \gset
select is(test.standing(:'b') || pg_temp.waits(:'b') || test.history(:'b', 'Condition%'), '{"go Waiting","until Consumed","ConditionAwaited 1","ConditionMet 1"}', 'set by hand: it goes on');
select is((select array_agg(r.node_id || ' ' || r.state) from bpm.replay(test.workflow(:'b')) r), '{"go Waiting"}', 'replay');

-- Another branch makes it true
select test.deploy('beside', '<parallelGateway id="f"/>' || pg_temp.cond('intermediateCatchEvent', 'until', '${done}') || test.service('work') || '<parallelGateway id="j"/><endEvent id="end"/>' || test.flows('start>f', 'f>until', 'f>work', 'until>j', 'work>j', 'j>end')) \gset
select test.start('beside') as c \gset
select test.complete_next('work', '{"done": true}') as done \gset
select is(test.status(:'c'), 'Completed', 'what another branch writes is seen in the same call');

-- Boundaries
select test.deploy('guard', test.service('work') || pg_temp.cond('boundaryEvent', 'stop', '${stop}', 'attachedToRef="work"') || pg_temp.cond('boundaryEvent', 'warn', '= level > 5', 'attachedToRef="work" cancelActivity="false"') || test.service('undo') || test.service('tell') || '<endEvent id="end"/><endEvent id="e2"/><endEvent id="e3"/>'
  || test.flows('start>work', 'work>end', 'stop>undo', 'undo>e2', 'warn>tell', 'tell>e3')) \gset
select test.start('guard', '{"level": 1}') as d \gset
select bpm.set_variables(:'d', '{"level": 6}') as set \gset
select is(test.standing(:'d'), '{"tell Waiting","work Waiting"}', 'beside its host');
select bpm.set_variables(:'d', '{"level": 7}') as set \gset
select is(test.standing(:'d'), '{"tell Waiting","work Waiting"}', 'still true: not again');
select bpm.set_variables(:'d', '{"level": 2}') as set \gset
select bpm.set_variables(:'d', '{"level": 9}') as set \gset
select is(test.standing(:'d'), '{"tell Waiting","tell Waiting","work Waiting"}', 'turned true again: again');
select bpm.set_variables(:'d', '{"stop": true}') as set \gset
select is(test.standing(:'d') || pg_temp.waits(:'d'), '{"tell Waiting","tell Waiting","undo Waiting","stop Consumed","warn Closed"}', 'interrupting');
select test.start('guard', '{"level": 8, "stop": true}') as e \gset
select is(test.standing(:'e'), '{"undo Waiting"}', 'both true at once: the interrupting one only');

-- Behind an event-based gateway; in an event sub-process; of a called process
select test.deploy('race', '<eventBasedGateway id="g"/>' || pg_temp.cond('intermediateCatchEvent', 'c1', '${a}') || pg_temp.cond('intermediateCatchEvent', 'c2', '${b}') || test.service('x') || test.service('y') || '<endEvent id="e1"/><endEvent id="e2"/>' || test.flows('start>g', 'g>c1', 'g>c2', 'c1>x', 'c2>y', 'x>e1', 'y>e2')) \gset
select test.start('race') as f \gset
select bpm.set_variables(:'f', '{"b": true}') as set \gset
select is(test.standing(:'f') || pg_temp.waits(:'f'), '{"y Waiting","c1 Closed","c2 Consumed"}', 'the first wins');
select test.deploy('evt', test.service('main') || '<endEvent id="end"/>' || test.flows('start>main', 'main>end') || '<subProcess id="es" triggeredByEvent="true">' || pg_temp.cond('startEvent', 'when', '${panic}') || test.service('calm') || '<endEvent id="ee"/>' || test.flows('when>calm', 'calm>ee') || '</subProcess>') \gset
select test.start('evt') as g \gset
select bpm.set_variables(:'g', '{"panic": true}') as set \gset
select is(test.standing(:'g'), '{"calm Waiting","es Waiting","evt:body Waiting"}', 'begins an event sub-process');
select test.deploy('caller', '<callActivity id="call" calledElement="wait"/><endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('caller', '{"stock": 12}') as h \gset
select is((select array_agg(k.node_id order by k.node_id) from bpm_core.token k join bpm_core.workflow_instance w on w.id = k.workflow_instance_id where w.process_instance_id = :'h' and k.state = 'Waiting'), '{call,go}', 'in a called process, too');

-- An endless loop of conditions that are true ends in a bound
select bpm.set_setting('engine.loop_budget', '2000') is not null as set \gset
select test.deploy('spin', '<exclusiveGateway id="m"/>' || pg_temp.cond('intermediateCatchEvent', 'c', '${on}') || '<exclusiveGateway id="x" default="x_m"/><endEvent id="end"/><sequenceFlow id="x_end" sourceRef="x" targetRef="end"><conditionExpression>${off == true}</conditionExpression></sequenceFlow>' || test.flows('start>m', 'm>c', 'c>x', 'x>m')) \gset
select test.start('spin', '{"on": true, "off": false}') as i \gset
select bpm.run_until_idle() as ticks \gset
select is((select i.code from bpm.incident i where i.process_instance_id = :'i'), 'LoopBudget', 'an endless loop of conditions');
select bpm.cancel_process(:'i') is not null as gone \gset

-- Suspended: nothing happens; faults
select test.start('wait') as j \gset
select bpm.suspend_process(:'j') is not null as held \gset
select bpm.set_variables(:'j', '{"stock": 99}') as set \gset
select is(test.standing(:'j'), '{"until Waiting"}', 'not while it is suspended');
select bpm.resume_process(:'j') is not null as on \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'j'), '{"go Waiting"}', 'resumed, it goes on');
select is((select array_agg(c.code || ' ' || c.node_id order by c.node_id) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/><endEvent id="end"/>' || pg_temp.cond('intermediateCatchEvent', 'c1', '') || pg_temp.cond('intermediateCatchEvent', 'c2', '${a b}') || test.flows('start>c1', 'c1>c2', 'c2>end'))) c where c.severity = 'fault'), '{"InvalidCondition c1","InvalidCondition c2"}', 'no condition, and one that cannot be read');
select is((select array_agg(r.node_id || ' ' || r.state order by r.node_id) from bpm.replay(test.workflow(:'g')) r where r.state not in ('Terminated', 'Completed')), '{"calm Waiting","es Waiting","evt:body Waiting"}', 'replay of the event sub-process');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');

-- Two beside one host that turn true at once
select test.deploy('pair', test.service('work') || pg_temp.cond('boundaryEvent', 'one', '${x > 1}', 'attachedToRef="work" cancelActivity="false"') || pg_temp.cond('boundaryEvent', 'two', '${x > 2}', 'attachedToRef="work" cancelActivity="false"')
  || test.service('first') || test.service('second') || '<endEvent id="end"/><endEvent id="e2"/><endEvent id="e3"/>' || test.flows('start>work', 'work>end', 'one>first', 'first>e2', 'two>second', 'second>e3')) \gset
select test.start('pair', '{"x": 0}') as pair \gset
select bpm.set_variables(:'pair', '{"x": 3}') as set \gset
select is(test.standing(:'pair'), '{"first Waiting","second Waiting","work Waiting"}', 'two that turn true at once: both take effect');
select bpm.set_variables(:'pair', '{"x": 4}') as set \gset
select is(test.standing(:'pair'), '{"first Waiting","second Waiting","work Waiting"}', 'each once');

-- One that is always true and leads back to its own host: one command asks so often, then tick goes on
select test.deploy('echo', test.service('work') || '<boundaryEvent id="always" attachedToRef="work" cancelActivity="false"><conditionalEventDefinition><condition>${1 == 1}</condition></conditionalEventDefinition></boundaryEvent><endEvent id="end"/>'
  || test.flows('start>work', 'work>end', 'always>work')) \gset
select test.start('echo') as echo \gset
select cmp_ok((select i.live_tokens from bpm.instance i where i.process_instance_id = :'echo'), '<', 200, 'not a thousand of them at once');
select is((select count(*)::integer from bpm_core.token t where t.workflow_instance_id = test.workflow(:'echo') and t.state = 'Ready'), 1, 'the last is parked');
select is_empty('select * from bpm.check_invariants()', 'and all is in order');
select * from finish();
rollback;

-- Calls in calls, each with a boundary event on the same message (C07); two branches that write the same variable (C21); a sub-process never brings back an
-- old value (C21).
begin;
select plan(20);
create function pg_temp.live(p uuid) returns text[] language sql as
$$ select coalesce(array_agg(k.node_id || ' ' || k.state order by k.node_id collate "C"), '{}') from bpm_core.token k join bpm_core.workflow_instance w on w.id = k.workflow_instance_id where w.process_instance_id = p and k.state not in ('Completed', 'Terminated') $$;
create function pg_temp.guarded(p_call text, p_code text) returns text language sql as
$$ select format('<callActivity id="%1$s" calledElement="%2$s"/><boundaryEvent id="%1$s-stop" attachedToRef="%1$s"><messageEventDefinition messageRef="m"/></boundaryEvent>', p_call, p_code) || test.service(p_call || '-undo') || '<endEvent id="end"/><endEvent id="end2"/>'
   || test.flows('start>' || p_call, p_call || '>end', p_call || '-stop>' || p_call || '-undo', p_call || '-undo>end2') $$;
\set outside '<message id="m" name="stop"/>'
select test.deploy('leaf', test.service('work') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select test.deploy('lower', pg_temp.guarded('low', 'leaf'), :'outside') \gset
select test.deploy('upper', pg_temp.guarded('up', 'lower'), :'outside') \gset

-- One message: the oldest wait gets it, which is the outer one, and everything below goes
select test.start('upper', '{}', 'A') as a \gset
select is(pg_temp.live(:'a'), '{"low Waiting","up Waiting","work Waiting"}', 'two calls deep');
select is((select m.state from bpm.correlate_message('stop', 'A') m), 'Correlated', 'one message');
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'a'), '{"up-undo Waiting"}', 'the outer one is interrupted, and with it what it called');
select is((select array_agg(t.node_id || ' ' || t.state) from bpm_core.task_instance t join bpm_core.workflow_instance w on w.id = t.workflow_instance_id where w.process_instance_id = :'a' and t.node_id = 'work'), '{"work Cancelled"}', 'its task is withdrawn');
-- Two messages at once: both waits get one; the inner one is on its way when its instance is cancelled
select test.start('upper', '{}', 'B') as b \gset
select is((select array_agg(m.state) from generate_series(1, 2) n cross join lateral bpm.correlate_message('stop', 'B', p_message_id => 'b' || n) m), '{Correlated,Correlated}', 'two messages at once');
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'b'), '{"up-undo Waiting"}', 'both are interrupted, the inner one is gone with the outer one');
-- The inner one first
select test.start('upper', '{}', 'C') as c \gset
select m.state from bpm.correlate_message('stop', 'C', p_message_id => 'c1') m \gset
select test.start('upper', '{}', 'D') as d \gset
select bpm.cancel_process(:'d') is not null as gone \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'d'), '{}', 'cancellable at any time');
select is((select m.state from bpm.correlate_message('stop', 'D', p_message_id => 'd1', p_ttl => '0') m), 'Expired', 'then nobody waits any more');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');

-- Two branches write x: what is committed last counts, and nothing else changes
select test.deploy('both', '<parallelGateway id="f"/>' || test.service('one') || test.service('two') || '<parallelGateway id="j"/><endEvent id="end"/>' || test.flows('start>f', 'f>one', 'f>two', 'one>j', 'two>j', 'j>end')) \gset
select test.start('both', '{"x": 0, "keep": 1}') as e \gset
select test.complete_next('one', '{"x": 1, "a": 1}') as done \gset
select test.complete_next('two', '{"x": 2}') as done \gset
select is(bpm.get_variables(:'e'), '{"a": 1, "x": 2, "keep": 1}'::jsonb, 'the last one counts, key by key');
select test.start('both', '{"x": 0}') as f \gset
select jsonb_agg(to_jsonb(t) order by t.task_type) as tasks from bpm.claim_tasks('w', '{one,two}', 2) t \gset
select count(*) as items from bpm.complete_tasks((select jsonb_agg(jsonb_build_object('task_id', t -> 'task_id', 'fencing_token', t -> 'fencing_token', 'variables', jsonb_build_object('x', t -> 'task_type')) order by t ->> 'task_type' desc) from jsonb_array_elements(:'tasks') t)) \gset
select is(bpm.get_variables(:'f') ->> 'x', 'one', 'in one call the order of its items counts');

-- A sub-process ends long after somebody else wrote x
select test.deploy('old', '<parallelGateway id="f"/><subProcess id="sub"><startEvent id="ss"/>' || test.service('slow') || '<endEvent id="se"/>' || test.flows('ss>slow', 'slow>se') || '</subProcess>' || test.service('fast') || '<parallelGateway id="j"/>' || test.service('last') || '<endEvent id="end"/>' || test.flows('start>f', 'f>sub', 'f>fast', 'sub>j', 'fast>j', 'j>last', 'last>end')) \gset
select test.start('old', '{"x": "old"}') as g \gset
select t.variables ->> 'x' as seen, t.task_id, t.fencing_token from bpm.claim_tasks('w', '{slow}') t \gset
select test.complete_next('fast', '{"x": "new"}') as done \gset
select is((select c.outcome::text from bpm.complete_task(:'task_id', :fencing_token, '{"y": 1}') c), 'Completed', 'a step that saw the old value completes');
select is(bpm.get_variables(:'g') ->> 'x' || ' ' || :'seen', 'new old', 'and does not bring it back');
-- A called process, too
select test.deploy('oldcall', '<parallelGateway id="f"/><callActivity id="call" calledElement="leaf"/>' || test.service('fast') || '<parallelGateway id="j"/><endEvent id="end"/>' || test.flows('start>f', 'f>call', 'f>fast', 'call>j', 'fast>j', 'j>end')) \gset
select test.start('oldcall', '{"x": "old"}') as h \gset
select test.complete_next('fast', '{"x": "new"}') as done \gset
select is((select t.variables ->> 'x' from bpm.claim_tasks('w', '{work}', 10) t where t.process_instance_id = :'h'), 'old', 'what was called sees what it was given');
select is((select c.outcome::text from bpm_core.task_instance t join bpm_core.workflow_instance w on w.id = t.workflow_instance_id cross join lateral bpm.complete_task(t.id, t.fencing_token, '{"y": 1}') c where t.state = 'Executing' and w.process_instance_id = :'h'), 'Completed', 'its step completes');
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'h') || bpm.get_variables(:'h')::text, 'Completed{"x": "new", "y": 1}', 'and only what it wrote comes back');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');

-- What calls itself twice doubles with every hop: one command bears so much of it, and tick goes on, until somebody cancels
select test.deploy('twins', '<callActivity id="call" calledElement="twins"><multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></callActivity>'
  || '<endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('twins') as t \gset
select cmp_ok((select count(*)::integer from bpm_core.workflow_instance w where w.process_instance_id = :'t'), '<', 4000, 'begun in one command: not all of them');
select cmp_ok((select count(*)::integer from bpm_core.token k join bpm_core.workflow_instance w on w.id = k.workflow_instance_id
                where w.process_instance_id = :'t' and k.state = 'Ready'), '>', 500, 'the others are parked');
select is_empty('select * from bpm.check_invariants()', 'and all is in order');
select * from finish();
rollback;

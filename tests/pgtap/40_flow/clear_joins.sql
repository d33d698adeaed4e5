-- What an interrupting event sub-process ends: what joins had collected, and the other event sub-processes.
begin;
select plan(12);
create function pg_temp.on_alarm(p_id text, p_inside text) returns text language sql as
$$ select format('<subProcess id="%1$s" triggeredByEvent="true"><startEvent id="%1$s-start"><signalEventDefinition signalRef="s-alarm"/></startEvent>%2$s<endEvent id="%1$s-end"/></subProcess>', p_id, p_inside) $$;

-- Beside a dead token at a join something still lives: nothing is starved
select test.deploy('alarm', '<parallelGateway id="f"/>' || test.service('a') || test.service('b') || '<parallelGateway id="j"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>j', 'b>j', 'j>end')
  || pg_temp.on_alarm('on', '<parallelGateway id="f2"/>' || test.service('c') || test.service('d') || '<parallelGateway id="j2"/>' || test.flows('on-start>f2', 'f2>c', 'f2>d', 'c>j2', 'd>j2', 'j2>on-end')),
  '<signal id="s-alarm" name="alarm"/>') \gset
select test.start('alarm') as one \gset
select test.complete_next('a') as done \gset
select bpm.broadcast_signal('alarm') as reached, bpm.run_until_idle() as ticks \gset
select is(test.standing(:'one') @> '{"c Waiting","d Waiting"}' and not test.standing(:'one') @> '{"j Waiting"}', true, 'the alarm ended what was waiting at the join');
select is((select count(*)::int from bpm_core.parallel_join j where j.workflow_instance_id = test.workflow(:'one')), 0, 'the join has forgotten it');
select is((select count(*)::int from bpm_core.parallel_join_arrival j where j.workflow_instance_id = test.workflow(:'one')), 0, 'and its arrival');
select test.complete_next('c') as done \gset
select is(test.incidents(:'one'), '{}', 'a branch of the alarm waits for the other: nothing is starved');
select test.complete_next('d') as done \gset
select is(test.status(:'one'), 'Completed', 'to the end');

-- The same join in several rounds of a sub-process: each scope counts for itself
select test.deploy('rounds', '<exclusiveGateway id="m"/><subProcess id="sub"><startEvent id="in"/><parallelGateway id="f"/>' || test.service('a') || test.service('b') || '<parallelGateway id="j"/><endEvent id="out"/>'
  || test.flows('in>f', 'f>a', 'f>b', 'a>j', 'b>j', 'j>out') || '</subProcess><exclusiveGateway id="x" default="x_m"/><endEvent id="end"/>'
  || test.flows('start>m', 'm>sub', 'sub>x', 'x>m') || test.when('x>end', '${done == true}')) \gset
select test.start('rounds', '{"done": false}') as two \gset
select test.complete_next('a') as done \gset
select test.complete_next('b') as done \gset
select test.complete_next('a') as done \gset
select test.complete_next('b', '{"done": true}') as done \gset
select is(test.status(:'two'), 'Completed', 'twice through');
select is_empty($$select * from bpm.check_invariants('')$$, 'round 1 of one scope is not round 1 of the other');

-- Two event sub-processes: when an interrupting one has begun, the other is not awaited any more
select test.deploy('two', test.service('a') || '<endEvent id="end"/>' || test.flows('start>a', 'a>end') || pg_temp.on_alarm('on', test.service('c') || test.flows('on-start>c', 'c>on-end'))
  || '<subProcess id="on-other" triggeredByEvent="true"><startEvent id="other"><signalEventDefinition signalRef="s-other"/></startEvent><endEvent id="other-end"/>' || test.flows('other>other-end') || '</subProcess>',
  '<signal id="s-alarm" name="alarm"/><signal id="s-other" name="other"/>') \gset
select test.start('two') as three \gset
select bpm.broadcast_signal('alarm') as reached, bpm.run_until_idle() as ticks \gset
select is((select array_agg(s.node_id || ' ' || s.state order by s.node_id) from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'three')), '{"on-start Consumed","other Closed"}', 'the other is closed');
select is_empty($$select * from bpm.check_invariants('')$$, 'and is not missed');

-- An interrupting one that begins in the command that enters the scope
select test.deploy('early', test.service('a') || '<endEvent id="end"/>' || test.flows('start>a', 'a>end')
  || '<subProcess id="on-true" triggeredByEvent="true"><startEvent id="true"><conditionalEventDefinition><condition>${x == 1}</condition></conditionalEventDefinition></startEvent>' || test.service('c') || '<endEvent id="true-end"/>' || test.flows('true>c', 'c>true-end') || '</subProcess>'
  || '<subProcess id="on-msg" triggeredByEvent="true"><startEvent id="msg"><messageEventDefinition messageRef="m-msg"/></startEvent><endEvent id="msg-end"/>' || test.flows('msg>msg-end') || '</subProcess>',
  '<message id="m-msg" name="hello"/>') \gset
select s.process_instance_id as early from bpm.start_process('early', '{"x": 1}', 'early-1') s \gset
select is(test.standing(:'early') @> '{"c Waiting"}' and not test.standing(:'early') @> '{"a Waiting"}', true, 'it begins at once');
select is((select count(*)::int from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'early') and s.state = 'Open'), 0, 'the message is not waited for: its event sub-process can no longer begin');
select is_empty($$select * from bpm.check_invariants('')$$, 'nor missed');
select * from finish();
rollback;

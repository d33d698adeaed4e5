-- Events with several definitions: any one of what may come, one after the other of what is thrown.
begin;
select plan(11);
create function pg_temp.defs(variadic p text[]) returns text language sql as
$$ select string_agg(case d when 't' then '<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>' when 'm' then '<messageEventDefinition messageRef="m"/>' when 's' then '<signalEventDefinition signalRef="s"/>' when 'end' then '<terminateEventDefinition/>' when 'e' then '<escalationEventDefinition/>' end, '' order by n) from unnest(p) with ordinality x(d, n) $$;
\set outside '<message id="m" name="hello"/><signal id="s" name="alarm"/>'

select test.deploy('catch', '<intermediateCatchEvent id="any">' || pg_temp.defs('t', 'm', 's') || '</intermediateCatchEvent>' || test.service('go') || '<endEvent id="end"/>' || test.flows('start>any', 'any>go', 'go>end'), :'outside') \gset
select test.start('catch', '{}', 'A') as a, test.start('catch', '{}', 'B') as b, test.start('catch', '{}', 'C') as c \gset
select is(test.standing(:'a'), '{"any Waiting"}', 'the token waits at the event');
select is((select m.state from bpm.correlate_message('hello', 'A') m) || test.standing(:'a')::text, 'Correlated{"go Waiting"}', 'the message');
select is((select array_agg(t.status::text) from bpm_core.timer t where t.workflow_instance_id = test.workflow(:'a')), '{Cancelled}', 'and nothing else any more');
select bpm.broadcast_signal('alarm') is not null as told \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'b') || test.standing(:'c'), '{"go Waiting","go Waiting"}', 'the signal');

select test.deploy('edge', test.service('work') || '<boundaryEvent id="any" attachedToRef="work">' || pg_temp.defs('t', 's') || '</boundaryEvent>' || test.service('undo') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>work', 'work>end', 'any>undo', 'undo>end2'), :'outside') \gset
select test.start('edge') as d \gset
select bpm.advance_clock('2 hours') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'d'), '{"undo Waiting"}', 'a boundary event: the timer');

select test.deploy('evt', test.service('main') || '<endEvent id="end"/>' || test.flows('start>main', 'main>end') || '<subProcess id="es" triggeredByEvent="true"><startEvent id="any">' || pg_temp.defs('m', 's') || '</startEvent>' || test.service('calm') || '<endEvent id="ee"/>' || test.flows('any>calm', 'calm>ee') || '</subProcess>', :'outside') \gset
select test.start('evt', '{}', 'E') as e \gset
select is((select m.state from bpm.correlate_message('hello', 'E') m) || test.standing(:'e')::text, 'Correlated{"calm Waiting","es Waiting","evt:body Waiting"}', 'the start of an event sub-process');

select test.deploy('throw', '<parallelGateway id="f"/><intermediateThrowEvent id="all">' || pg_temp.defs('s', 'e') || '</intermediateThrowEvent>' || test.service('go2') || test.service('other') || '<endEvent id="bye">' || pg_temp.defs('end', 's') || '</endEvent><endEvent id="end2"/>' || test.flows('start>f', 'f>all', 'all>go2', 'go2>bye', 'f>other', 'other>end2'), :'outside') \gset
select test.start('throw') as f \gset
select is(test.standing(:'f') || test.history(:'f', '%Thrown'), '{"go2 Waiting","other Waiting","SignalThrown 1","EscalationThrown 1"}', 'thrown one after the other');
select test.complete_next('go2') as done \gset
select is(test.status(:'f') || test.history(:'f', '%Thrown')::text, 'Completed{"SignalThrown 2","EscalationThrown 1"}', 'an end event: what ends everything comes last');
select is((select array_agg(c.code || ' ' || c.node_id) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/><intermediateCatchEvent id="all" parallelMultiple="true">' || pg_temp.defs('t', 's') || '</intermediateCatchEvent><endEvent id="end"/>' || test.flows('start>all', 'all>end'), :'outside')) c where c.severity = 'fault'), '{"UnsupportedElement all"}', 'all of them together: refused');
select is((select array_agg(c.code || ' ' || c.node_id order by c.node_id) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/><intermediateCatchEvent id="any"><timerEventDefinition/><messageEventDefinition messageRef="nobody"/></intermediateCatchEvent><endEvent id="end"/>' || test.flows('start>any', 'any>end'))) c where c.severity = 'fault'), '{"InvalidTimer any:1","UnknownReference any:2"}', 'each is judged by itself');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;

-- What nothing waits at: a plain task, a manual task, a plain throw event; several flows out of a task; a plain end event; what is drawn and not executed.
begin;
select plan(6);
select test.deploy('through', '<task id="t"/><manualTask id="m"/><intermediateThrowEvent id="mile" name="half way"/><parallelGateway id="g"/>' || test.service('a') || test.service('b') || '<endEvent id="e1"/><endEvent id="e2"/>'
  || '<dataObject id="d"/><dataObjectReference id="r" dataObjectRef="d"/><textAnnotation id="n"><text>a note</text></textAnnotation><association id="s" sourceRef="n" targetRef="a"/>'
  || test.flows('start>t', 't>m', 'm>mile', 'mile>g', 'g>a', 'g>b', 'a>e1', 'b>e2'),
  '<collaboration id="c"><participant id="us" processRef="through"/><participant id="them" name="them"/><messageFlow id="mf" sourceRef="us" targetRef="them"/></collaboration>') \gset
select test.start('through') as p \gset
select is(test.standing(:'p'), '{"a Waiting","b Waiting"}', 'passed through in one command');
select is((select array_agg(distinct h.node_id order by h.node_id) from bpm.get_history(:'p') h where h.node_id in ('t', 'm', 'mile', 'd', 'r', 'n', 'us', 'them')) @> '{mile}', true, 'the history has the milestone');
select test.complete_next('a') as done \gset
select is(test.status(:'p') || test.standing(:'p')::text, 'Running{"b Waiting"}', 'a plain end event ends its token');
select test.complete_next('b') as done \gset
select is(test.status(:'p'), 'Completed', 'the last one ends the instance');
select test.deploy('wide', '<task id="t"/>' || test.service('a') || test.service('b') || '<endEvent id="e"/>' || test.flows('start>t', 't>a', 't>b', 'a>e', 'b>e')) \gset
select is(test.standing(test.start('wide')), '{"a Waiting","b Waiting"}', 'several flows out of a task fork');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;

-- Throw and end events that go on: links, messages as commands, escalations nobody catches.
begin;
select plan(29);
create function pg_temp.found(p_code text, p_body text, p_outside text default '', p_strict boolean default false) returns text[] language sql as $$
  select array_agg(f.message order by f.message collate "C") from bpm_core.compile_text(test.bpmn('p', '<startEvent id="start"/>' || p_body, p_outside), p_strict, '') c cross join lateral unnest(c.findings) f where f.code = p_code
$$;
create function pg_temp.link(p_tag text, p_id text, p_name text) returns text language sql as
$$ select format('<intermediate%sEvent id="%s"><linkEventDefinition name="%s"/></intermediate%sEvent>', p_tag, p_id, p_name, p_tag) $$;
create function pg_temp.path(p_process_instance_id uuid) returns text[] language sql as
$$ select array_agg(h.node_id order by h.seq) from bpm.get_history(p_process_instance_id) h where h.category = 'token' or h.kind = 'CommandWritten' $$;

-- Links
select test.deploy('linked', pg_temp.link('Throw', 't1', 'over there') || pg_temp.link('Throw', 't2', ' over there ') || pg_temp.link('Catch', 'c', 'over there') || '<exclusiveGateway id="g" default="g_t2"/><endEvent id="end"/>'
  || test.flows('start>g', 'g>t2', 'c>end') || test.when('g>t1', '${first}')) \gset
select test.start('linked', '{"first": true}') as a, test.start('linked', '{"first": false}') as b \gset
select is(pg_temp.path(:'a'), '{g,t1,c,end}', 'from a throwing link to the catching one of its name');
select is(pg_temp.path(:'b') || test.status(:'b'), '{g,t2,c,end,Completed}', 'from several to one');
select is((select array_agg(f ->> 'flow_id' order by f ->> 'flow_id') from bpm.get_definition('linked') d cross join lateral jsonb_array_elements(d.graph -> 'flows') f where f ->> 'flow_id' like '%:link'), '{t1:link,t2:link}', 'as flows the compiler adds');
-- A loop by link
select test.deploy('round', pg_temp.link('Throw', 'back', 'again') || pg_temp.link('Catch', 'again', 'again') || '<exclusiveGateway id="enter"/><exclusiveGateway id="g" default="g_back"/>' || test.service('step') || '<endEvent id="end"/>'
  || test.flows('start>enter', 'again>enter', 'enter>step', 'step>g', 'g>back') || test.when('g>end', '${done}')) \gset
select test.start('round', '{"done": false}') as c \gset
select test.complete_next('step') as one, test.complete_next('step', '{"done": true}') as two \gset
select is(test.visits(:'c', 'step') || test.status(:'c'), '2Completed', 'a link may lead back');
-- Wrong ones
select is(pg_temp.found('UnknownReference', pg_temp.link('Throw', 't', 'x') || test.flows('start>t')), '{"intermediateThrowEvent \"t\" leads to the link \"x\", which no event of its scope catches."}', 'nobody catches it');
select is(pg_temp.found('UnknownReference', pg_temp.link('Throw', 't', 'x') || pg_temp.link('Catch', 'c1', 'x') || pg_temp.link('Catch', 'c2', 'x') || test.flows('start>t')), '{"intermediateThrowEvent \"t\" leads to the link \"x\", which several events of its scope catch."}', 'several do');
select is(pg_temp.found('UnknownReference', pg_temp.link('Throw', 't', '') || test.flows('start>t')), '{"intermediateThrowEvent \"t\" is a link without a name."}', 'no name');
select is(pg_temp.found('OrphanNode', pg_temp.link('Catch', 'c', 'x') || '<endEvent id="e"/>' || test.flows('start>e', 'c>e')), '{"Nothing leads to intermediateCatchEvent \"c\": no event of its scope throws the link \"x\"."}', 'nobody throws it');
select is(pg_temp.found('DeadEnd', pg_temp.link('Throw', 't', 'x') || pg_temp.link('Catch', 'c', 'x') || '<task id="k"/><endEvent id="e"/>' || test.flows('start>k', 'k>t', 'k>c', 't>e', 'c>e')),
  '{"intermediateCatchEvent \"c\" is a link, so no sequence flow leads to it.","intermediateThrowEvent \"t\" is a link, so no sequence flow leaves it."}', 'flows on the wrong side');
select is(pg_temp.found('DeadEnd', pg_temp.link('Throw', 't', 'x') || pg_temp.link('Catch', 'c', 'x') || test.flows('start>t')), '{"intermediateCatchEvent \"c\" has no outgoing flow and is no end event."}', 'a catching one that leads nowhere');
select is(pg_temp.found('OrphanNode', pg_temp.link('Throw', 't', 'x') || pg_temp.link('Catch', 'c', 'x') || '<endEvent id="e"/>' || test.flows('start>e', 'c>e')) @> '{"Nothing leads to intermediateThrowEvent \"t\"."}', true, 'a throwing one that nothing leads to');
select is(pg_temp.found('UnsupportedElement', '<boundaryEvent id="b" attachedToRef="k"><linkEventDefinition name="x"/></boundaryEvent><task id="k"/>'), '{"boundaryEvent \"b\" of kind link is not executed."}', 'on a boundary');

-- Messages: a command where the drawing says how
select bpm.register_destination('courier', 'http', '{"url": "http://courier.example/"}') is not null as made \gset
select test.deploy('sends', '<intermediateThrowEvent id="t" bpm:type="book" bpm:destination="courier"><messageEventDefinition messageRef="m"/></intermediateThrowEvent><endEvent id="e" bpm:type="courier"><messageEventDefinition messageRef="m"/></endEvent>'
  || test.flows('start>t', 't>e'), '<message id="m" name="booked"/>') \gset
select test.start('sends', '{"x": 1}') as d \gset
select is(pg_temp.path(:'d') || test.status(:'d'), '{t,e,e:end,Completed}', 'a message throw event sends and goes on, an end event sends and ends');
select is((select array_agg(concat_ws(' ', c.node_id, c.task_type, c.destination_code, c.state) order by c.node_id) from bpm.command c where c.process_instance_id = :'d'), '{"e courier courier Pending","t book courier Pending"}', 'two commands');
select is((select array_agg(c.payload::text) from bpm.claim_commands('w', 10) c), '{"{\"x\": 1}","{\"x\": 1}"}', 'with all variables, as send tasks');
select is((select array_agg(n ->> 'node_id' || ' ' || (n ->> 'kind') order by n ->> 'node_id' collate "C") from bpm_core.compile_text(test.bpmn('p', x.body), false, '') c cross join lateral unnest(c.nodes) v cross join lateral (select to_jsonb(v) as n) y), x.kinds::text[], x.label)
  from (values
    ('<intermediateThrowEvent id="t"><messageEventDefinition xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:type="external" camunda:topic="mail"/></intermediateThrowEvent>', '{"t SendTask"}', 'Camunda''s topic on the definition'),
    ('<endEvent id="t"><extensionElements><z:taskDefinition xmlns:z="http://camunda.org/schema/zeebe/1.0" type="mail"/></extensionElements><messageEventDefinition/></endEvent>', '{"t SendTask","t:end EndEvent"}', 'Zeebe''s task definition'),
    ('<intermediateThrowEvent id="t" bpm:destination="courier"><messageEventDefinition/></intermediateThrowEvent>', '{"t SendTask"}', 'a destination alone'),
    ('<intermediateThrowEvent id="t"><messageEventDefinition/></intermediateThrowEvent>', '{"t PassThrough"}', 'nothing: passed through'),
    ('<endEvent id="t"><messageEventDefinition/></endEvent>', '{"t EndEvent"}', 'nothing: a plain end')) x (body, kinds, label);
select is(pg_temp.found('MessageNotSent', '<endEvent id="e" name="Tell them"><messageEventDefinition/></endEvent>' || test.flows('start>e')), '{"endEvent \"e\" (Tell them) does not say how its message is sent; it sends nothing."}', 'with a warning');
select is((select array_agg(f.severity || ' ' || f.code) from bpm_core.compile_text(test.bpmn('p', '<startEvent id="start"/><endEvent id="e"><messageEventDefinition/></endEvent>' || test.flows('start>e')), true, '') c cross join lateral unnest(c.findings) f), '{"fault MessageNotSent"}', 'a fault when strict');
select is(pg_temp.found('UnsupportedElement', '<endEvent id="e" bpm:type="x"/>' || test.flows('start>e')), '{"endEvent \"e\": bpm:type and bpm:destination are for its message, but it throws none."}', 'our attributes on an event that sends nothing');
select test.deploy('lost', '<endEvent id="e" bpm:type="nowhere"><messageEventDefinition/></endEvent>' || test.flows('start>e')) \gset
select test.start('lost') as f \gset
select is(test.standing(:'f') || test.incidents(:'f'), '{"e Failed","UnknownDestination e"}', 'an unknown destination stops it, as at a send task');
select bpm.register_destination('nowhere', 'http', '{"url": "http://nowhere.example/"}') is not null as made \gset
select bpm.resolve_incident(x.incident_id) is not null as resolved from bpm.incident x where x.process_instance_id = :'f' \gset
select is(test.status(:'f'), 'Completed', 'mended, it sends and ends');

-- Escalations nobody catches
select test.deploy('escalates', '<intermediateThrowEvent id="t"><escalationEventDefinition escalationRef="x"/></intermediateThrowEvent><endEvent id="e"><escalationEventDefinition/></endEvent>' || test.flows('start>t', 't>e'), '<escalation id="x" escalationCode="LATE"/>') \gset
select test.start('escalates') as g \gset
select is((select array_agg(h.node_id || ' ' || h.detail order by h.seq) from bpm.get_history(:'g') h where h.kind = 'EscalationThrown'), '{"t {\"code\": \"LATE\", \"caught\": false}","e {\"code\": null, \"caught\": false}"}', 'are recorded');
select is(pg_temp.path(:'g') || test.status(:'g') || test.incidents(:'g'), '{t,e,e:end,Completed}', 'and go on');
select is(pg_temp.found('UnknownReference', '<endEvent id="e"><escalationEventDefinition escalationRef="y"/></endEvent>' || test.flows('start>e')), '{"endEvent \"e\" refers to the escalation \"y\", which the file does not define."}', 'a reference to nothing');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

-- Error end event at the root: nobody is left to catch it, so it is an incident on the token.
begin;
select plan(8);
select test.deploy('fails', test.service('a') || '<exclusiveGateway id="gate" default="gate_fail"/><endEvent id="fail"><errorEventDefinition errorRef="e"/></endEvent><endEvent id="end"/>'
  || test.flows('start>a', 'a>gate', 'gate>fail') || test.when('gate>end', '${ok == true}'), '<error id="e" errorCode="no-stock"/>') \gset
select test.start('fails') as a \gset
select test.complete_next('a') as done \gset
select is(test.standing(:'a') || test.incidents(:'a') || test.status(:'a'), '{"fail Failed","UncaughtError fail",Running}', 'an incident; the token stands at the end event, the instance stays Running');
select is((select i.detail from bpm.incident i where i.process_instance_id = :'a'), '{"code": "no-stock"}'::jsonb, 'that names the code');
select is((select count(*) from bpm.dead_letter), 0::bigint, 'no work was lost: no dead letter');
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'a' \gset
select is((select array_agg(i.state order by i.created_at) from bpm.incident i where i.process_instance_id = :'a'), '{Resolved,Open}', 'resolving drives it again: a new incident');
select bpm.cancel_process(:'a') is not null as cancelled \gset
select is(test.status(:'a') || test.incidents(:'a')::text, 'Cancelled{}', 'cancelling ends it');

-- Beside a live branch
select test.deploy('plain', '<parallelGateway id="fork"/>' || test.service('b') || '<endEvent id="fail"><errorEventDefinition errorRef="e"/></endEvent><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>b', 'fork>fail', 'b>end'), '<error id="e" errorCode="no-stock"/>') \gset
select test.start('plain') as b \gset
select is(test.standing(:'b') || test.incidents(:'b'), '{"b Waiting","fail Failed","UncaughtError fail"}', 'the other branch goes on');
select test.complete_next('b') as done \gset
select is(test.standing(:'b') || test.status(:'b'), '{"fail Failed",Running}', 'and ends without it');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

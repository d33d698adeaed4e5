-- bpm.resolve_incident: drives a stopped token again, once what stopped it was mended.
begin;
select plan(29);
select test.deploy('choice', '<exclusiveGateway id="gate"/>' || test.service('yes') || test.service('no', 'bpm:retries="1"') || '<endEvent id="end"/>'
  || test.when('gate>yes', '${status == "APPROVED"}') || test.when('gate>no', '${status == "REJECTED"}')
  || test.flows('start>gate', 'yes>end', 'no>end')) \gset

-- Data repaired: the same token goes on (C06)
select test.start('choice', '{"status": "approved"}') as a \gset
select is(test.standing(:'a') || test.incidents(:'a'), '{"gate Failed","NoFlowTrue gate"}', 'stopped');
select i.incident_id as incident, i.token_id as token from bpm.incident i where i.process_instance_id = :'a' \gset
select bpm.set_variables(:'a', '{"status": "REJECTED"}') is not null as mended \gset
select w.lock_version as before from bpm_core.workflow_instance w where w.id = test.workflow(:'a') \gset
select r.* from bpm.resolve_incident(:'incident', p_actor => 'ann') r \gset r_
select is(:'r_incident_id' || :'r_outcome', :'incident' || 'Done', 'resolved');
select is(test.standing(:'a'), '{"no Waiting"}', 'the token went on');
select is((select t.token_id from bpm.task t where t.process_instance_id = :'a'), :'token'::uuid, 'the same token');
select is((select i.state || ' ' || i.resolved_by || ' ' || (i.resolved_at is not null) from bpm.incident i where i.incident_id = :'incident'), 'Resolved ann true', 'by whom, and when');
select is(test.history(:'a'), '{"InstanceStarted 1","IncidentOpened 1","VariablesSet 1","IncidentResolved 1","TokenResumed 1","FlowChosen 1"}', 'as history tells');
select is((select e.actor || ' ' || (e.detail ->> 'code') from bpm_core.audit_event e where e.action = 'ResolveIncident' and e.aggregate_id = :'incident'), 'ann NoFlowTrue', 'it is audited');
select is((select w.lock_version from bpm_core.workflow_instance w where w.id = test.workflow(:'a')), :before + 1, 'the instance is written once');
select is((select r.outcome::text from bpm.resolve_incident(:'incident', p_actor => 'bob') r), 'Done', 'again: the same answer');
select is(test.history(:'a', 'IncidentResolved') || (select i.resolved_by from bpm.incident i where i.incident_id = :'incident'), '{"IncidentResolved 1",ann}', 'and nothing written');

-- Nothing mended: a new incident at once (C04)
select test.start('choice', '{}') as b \gset
select i.incident_id as incident from bpm.incident i where i.process_instance_id = :'b' \gset
select bpm.resolve_incident(:'incident') is not null as resolved \gset
select is(test.standing(:'b') || test.incidents(:'b'), '{"gate Failed","NoFlowTrue gate"}', 'stopped again, never silently');
select is((select array_agg(i.state order by i.created_at) from bpm.incident i where i.process_instance_id = :'b'), '{Resolved,Open}', 'by a new incident');

-- A failed task gets fresh attempts
select test.start('choice', '{"status": "REJECTED"}') as c \gset
select bpm.cancel_process(:'a') is not null as out_of_the_way \gset
select test.fail_next('no') as task \gset
select i.incident_id as incident from bpm.incident i where i.process_instance_id = :'c' \gset
select throws_ok(format('select * from bpm.resolve_incident(%L, 0)', :'incident'), 'BP422', null, 'no attempts (C20)');
select throws_ok(format('select * from bpm.resolve_incident(%L, -3)', :'incident'), 'BP422', null, 'attempts below nothing');
select throws_ok(format('select * from bpm.resolve_incident(%L, 1001)', :'incident'), 'BP422', null, 'attempts over 1000');
select throws_ok(format('select * from bpm.resolve_incident(%L, null)', :'incident'), 'BP422', null, 'attempts that are null');
select is((select i.state from bpm.incident i where i.incident_id = :'incident'), 'Open', 'a refused call resolves nothing');
select bpm.resolve_incident(:'incident', 1000) is not null as resolved \gset
select is((select t.state || ' ' || t.attempt || ' ' || t.max_attempts from bpm.task t where t.task_id = :'task'), 'Ready 1 1001', 'the same task, with fresh attempts');
select is((select d.state from bpm.dead_letter d where d.incident_id = :'incident'), 'Requeued', 'its dead letter is requeued');
select is((select t.available_at <= bpm_core.now() from bpm.task t where t.task_id = :'task'), true, 'at once');
select is(test.complete_next('no') || test.status(:'c'), :'task' || 'Completed', 'and the process ends');

-- Refused
select throws_ok($$select * from bpm.resolve_incident('00000000-0000-7000-8000-000000000001')$$, 'BP404', null, 'an incident that is not there');
select throws_ok($$select * from bpm.resolve_incident(null)$$, 'BP404', null, 'no incident');
select throws_ok(format('select * from bpm.resolve_incident(%L, p_tenant_id => ''nobody'')', i.incident_id), 'BP403', null, 'a tenant that is not ours') from bpm.incident i where i.state = 'Open' limit 1;
select throws_ok(format('select * from bpm.resolve_incident(%L, p_actor => '''')', i.incident_id), 'BP400', null, 'an actor without a name') from bpm.incident i where i.state = 'Open' limit 1;

-- An instance that has ended takes its incidents with it
select i.incident_id as incident from bpm.incident i where i.process_instance_id = :'b' and i.state = 'Open' \gset
select bpm.cancel_process(:'b') is not null as cancelled \gset
select is((select i.state || ' ' || i.resolved_by from bpm.incident i where i.incident_id = :'incident'), 'Resolved engine', 'cancelling resolves its incidents');
select is((select r.outcome::text from bpm.resolve_incident(:'incident') r), 'Done', 'which stay so');
select is(test.status(:'b'), 'Cancelled', 'and the instance');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

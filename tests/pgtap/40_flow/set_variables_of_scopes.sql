-- bpm.set_variables with a token: what a sub-process declares, what a called process was given; get_process shows both.
begin;
select plan(13);
create function pg_temp.token(p uuid, p_node text) returns uuid language sql as
$$ select k.id from bpm_core.token k join bpm_core.workflow_instance w on w.id = k.workflow_instance_id where w.process_instance_id = p and k.node_id = p_node and k.state not in ('Completed', 'Terminated') $$;
create function pg_temp.io(p_target text, p_source text) returns text language sql as
$$ select format('<extensionElements><zeebe:ioMapping xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"><zeebe:input target="%s" source="%s"/></zeebe:ioMapping></extensionElements>', p_target, p_source) $$;

-- A multi-instance in a sub-process over a list the sub-process declares
select test.deploy('outer', '<subProcess id="sub">' || pg_temp.io('lines', '= order.lines') || '<startEvent id="in"/><serviceTask id="each" bpm:type="each"><multiInstanceLoopCharacteristics><extensionElements><zeebe:loopCharacteristics xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" inputCollection="= lines" inputElement="line"/></extensionElements></multiInstanceLoopCharacteristics></serviceTask><endEvent id="out"/>' || test.flows('in>each', 'each>out') || '</subProcess><endEvent id="end"/>' || test.flows('start>sub', 'sub>end')) \gset
select test.start('outer', '{"order": {"lines": null}}') as a \gset
select is(test.incidents(:'a'), '{"InvalidCollection each:multi"}', 'a list that is null');
select is(bpm.set_variables(:'a', '{"lines": [1, 2]}') -> 'lines', '[1, 2]'::jsonb, 'set for the workflow');
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'a' and i.state = 'Open' \gset
select is((select i.code from bpm.incident i where i.process_instance_id = :'a' and i.state = 'Open'), 'InvalidCollection', 'does not help: the sub-process has its own');
select is(bpm.get_process(:'a') #> '{scopes,0,variables}', '{"lines": null}'::jsonb, 'which is shown');
select is(bpm.set_variables(:'a', '{"lines": [1, 2], "note": "x"}', p_token_id => pg_temp.token(:'a', 'each:multi')) -> 'lines', '[1, 2]'::jsonb, 'set for the token that stopped');
select is((select s.variables from bpm_core.scope s where s.workflow_instance_id = test.workflow(:'a') and s.node_id = 'sub'), '{"lines": [1, 2]}'::jsonb, 'it goes where it is declared');
select is(bpm.get_variables(:'a') ->> 'note', 'x', 'and what nobody declares to the workflow');
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'a' and i.state = 'Open' \gset
select is((select count(*) from bpm.task t where t.process_instance_id = :'a' and t.state = 'Ready'), 2::bigint, 'resolved, it goes on');

-- A called process
select test.deploy('inner', '<exclusiveGateway id="g"/><endEvent id="e1"/><endEvent id="e2"/>' || test.when('g>e1', '${x == 1}') || test.when('g>e2', '${x == 2}') || test.flows('start>g')) \gset
select test.deploy('caller', '<callActivity id="call" calledElement="inner"/><endEvent id="end"/>' || test.flows('start>call', 'call>end')) \gset
select test.start('caller', '{"x": 3}') as b \gset
select is((select i.code || ' ' || i.node_id from bpm.incident i where i.process_instance_id = :'b'), 'NoFlowTrue g', 'what was called stops');
select is(bpm.set_variables(:'b', '{"x": 2}', p_token_id => pg_temp.token(:'b', 'g')) ->> 'x', '2', 'its variables can be set');
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'b' \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'b'), 'Completed', 'and it goes on');

select throws_ok(format('select bpm.set_variables(%L, ''{"x": 1}'', p_token_id => %L)', :'a', :'b'), 'BP404', null, 'a token that is not there');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;

-- Input and output mappings of sub-processes and what cannot be evaluated: nothing inside is done twice.
begin;
select plan(19);
create function pg_temp.io(p_inputs text, p_outputs text) returns text language sql as
$$ select '<extensionElements><zeebe:ioMapping xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">' || p_inputs || p_outputs || '</zeebe:ioMapping></extensionElements>' $$;
create function pg_temp.in(p_target text, p_source text) returns text language sql as $$ select format('<zeebe:input target="%s" source="%s"/>', p_target, p_source) $$;
create function pg_temp.out(p_target text, p_source text) returns text language sql as $$ select format('<zeebe:output target="%s" source="%s"/>', p_target, p_source) $$;
create function pg_temp.sub(p_io text, p_inside text) returns text language sql as
$$ select '<subProcess id="sub">' || p_io || '<startEvent id="in"/>' || p_inside || '<endEvent id="out"/></subProcess>' || test.service('after') || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>after', 'after>end') $$;

select test.deploy('mapped', pg_temp.sub(pg_temp.io(pg_temp.in('price', '= amount * 2'), pg_temp.out('total', '= price + 1')), test.service('work') || test.service('more') || test.flows('in>work', 'work>more', 'more>out'))) \gset
select test.start('mapped', '{"amount": 5, "price": "outside"}') as a \gset
select is((select t.variables from bpm.claim_tasks('w', '{work}') t), '{"price": 10, "amount": 5}'::jsonb, 'inside, the input hides what is outside');
select is((select c.outcome::text from bpm_core.task_instance t cross join lateral bpm.complete_task(t.id, t.fencing_token, '{"price": 20, "note": "x"}') c where t.state = 'Executing'), 'Completed', 'a step writes both');
select is((select s.variables from bpm_core.scope s where s.workflow_instance_id = test.workflow(:'a')), '{"price": 20}'::jsonb, 'what the scope declares stays in it');
select is(bpm.get_variables(:'a'), '{"note": "x", "price": "outside", "amount": 5}'::jsonb, 'the rest goes outwards');
select test.complete_next('more') as done \gset
select is(bpm.get_variables(:'a'), '{"note": "x", "price": "outside", "total": 21, "amount": 5}'::jsonb, 'outputs are mapped when it ends');
select is(test.standing(:'a'), '{"after Waiting"}', 'and it goes on');
select is_empty('select * from bpm.check_invariants()', 'history tells the same variables');

-- An input that cannot be evaluated: nothing inside has begun
select test.start('mapped', '{"amount": "many"}') as b \gset
select is(test.incidents(:'b') || test.standing(:'b'), '{"ExpressionUndecidable sub","sub Failed"}', 'an input without a value stops the host');
select is((select count(*) from bpm_core.scope s where s.workflow_instance_id = test.workflow(:'b')), 0::bigint, 'before anything begins');
select bpm.set_variables(:'b', '{"amount": 1}') as set \gset
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'b' \gset
select is(test.standing(:'b'), '{"sub Waiting","work Waiting"}', 'mended, it begins');

-- An output that cannot be evaluated: the last token waits at the inner end
select test.complete_next('work', '{"price": "none"}') as done \gset
select test.complete_next('more') as done \gset
select is(test.standing(:'b'), '{"out Failed","sub Waiting"}', 'an output without a value stops the last token at the end event');
select is((select string_agg(i.code || ' ' || i.node_id, ',') from bpm.incident i where i.process_instance_id = :'b' and i.state = 'Open'), 'ExpressionUndecidable out', 'and says so');
update bpm_core.scope set variables = '{"price": 7}' where workflow_instance_id = test.workflow(:'b') and state = 'Open';
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'b' and i.state = 'Open' \gset
select is(test.standing(:'b') || (bpm.get_variables(:'b') ->> 'total'), '{"after Waiting",8}', 'mended, it ends without doing anything again');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = test.workflow(:'b')), 3::bigint, 'each task was offered once');

-- Outputs of a call: the called process is not called again
select test.deploy('leafp', test.service('leaf') || '<endEvent id="end"/>' || test.flows('start>leaf', 'leaf>end')) \gset
select test.deploy('caller', '<callActivity id="call" calledElement="leafp">' || pg_temp.io('', pg_temp.out('total', '= price + 1')) || '</callActivity>' || test.service('after') || '<endEvent id="end"/>' || test.flows('start>call', 'call>after', 'after>end')) \gset
select test.start('caller') as c \gset
select test.complete_next('leaf', '{"price": "none"}') as done \gset
select bpm.run_until_idle() as ticks \gset
select is(test.incidents(:'c') || test.standing(:'c'), '{InboxPoisoned,"call Waiting"}', 'its output cannot be evaluated: an incident, the caller keeps its place');
update bpm_core.workflow_instance set variables = '{"price": 7}' where parent_token_id is not null and process_instance_id = :'c';
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'c' and i.state = 'Open' \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'c') || (bpm.get_variables(:'c') ->> 'total'), '{"after Waiting",8}', 'resolved, it is mapped again');
select is((select count(*) from bpm_core.workflow_instance w where w.process_instance_id = :'c'), 2::bigint, 'nothing was called twice');

-- Faults
select is((select array_agg(c.code || ' ' || c.node_id) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/>' || pg_temp.sub(pg_temp.io(pg_temp.in('a', '= b c +'), ''), test.flows('in>out')))) c where c.severity = 'fault'), '{"InvalidCondition sub"}', 'a mapping that cannot be read');
select is_empty('select * from bpm.check_bpmn(test.bpmn(''good'', ''<startEvent id="start"/>'' || pg_temp.sub(pg_temp.io(pg_temp.in(''a'', ''= b''), pg_temp.out(''c'', ''= a'')), test.flows(''in>out''))))', 'no warning about mappings that are executed');
select * from finish();
rollback;

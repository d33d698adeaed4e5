-- Multi-instances and what is around them: choices behind, the body of a process, repair by hand, suspending, a guard that cannot be set.
begin;
select plan(25);
create function pg_temp.task(p_id text, p_loop text) returns text language sql as
$$ select format('<serviceTask id="%1$s" bpm:type="%1$s">%2$s</serviceTask>', p_id, p_loop) $$;
create function pg_temp.multi(p_attributes text, p_inside text default '') returns text language sql as
$$ select format('<multiInstanceLoopCharacteristics %s>%s</multiInstanceLoopCharacteristics>', p_attributes, p_inside) $$;
create function pg_temp.replayed(p uuid) returns boolean language sql as
$$ select not exists (select r.token_id::text, r.node_id, r.state from bpm.replay(test.workflow(p)) r
                      except select k.id::text, k.node_id, k.state::text from bpm_core.token k where k.workflow_instance_id = test.workflow(p)) $$;
create function pg_temp.progress(p uuid) returns text language sql as
$$ select string_agg(concat_ws(' ', l ->> 'node_id', l ->> 'mode', l ->> 'done', l ->> 'created', l ->> 'total'), ',' order by l ->> 'node_id') from jsonb_array_elements(bpm.get_process(p) -> 'loops') l $$;
create function pg_temp.token(p uuid, p_node text) returns uuid language sql as
$$ select k.id from bpm_core.token k where k.workflow_instance_id = test.workflow(p) and k.node_id = p_node and k.state in ('Waiting', 'Failed', 'Ready') order by k.id limit 1 $$;

-- flows behind: conditional, default, several; at the root of a process with an event sub-process; a boundary without flow
select test.deploy('out', replace(pg_temp.task('work', pg_temp.multi('bpm:collection="items"')), 'bpm:type', 'default="work_b" bpm:type') || test.service('a') || test.service('b') || '<endEvent id="e1"/><endEvent id="e2"/>' || test.flows('start>work', 'work>b', 'a>e1', 'b>e2') || test.when('work>a', '${x == 1}')
  || '<subProcess id="on" triggeredByEvent="true"><startEvent id="hear"><errorEventDefinition/></startEvent>' || test.service('fix') || '<endEvent id="e3"/>' || test.flows('hear>fix', 'fix>e3') || '</subProcess>') \gset
select test.start('out', '{"items": [1, 2], "x": 1}') as a \gset
select is(test.standing(:'a'), '{"out:body Waiting","work Waiting","work Waiting","work:multi Waiting"}', 'in the body of a process');
select test.complete_next('work') is not null as done \gset
select test.complete_next('work') is not null as done \gset
select is(test.standing(:'a'), '{"a Waiting","out:body Waiting"}', 'one choice behind all of it');
select ok(pg_temp.replayed(:'a'), 'replay');
select test.start('out', '{"items": [1, 2], "x": 1}') as b \gset
select test.throw_next('work', 'bad') is not null as thrown \gset
select is(test.standing(:'b'), '{"fix Waiting","on Waiting","out:body Waiting"}', 'an event sub-process around catches, and ends all items');
select ok(pg_temp.replayed(:'b'), 'replay');

-- by hand
select test.start('out', '{"items": [1, 2, 3], "x": 2}') as c \gset
select is((select s.node_id || ' ' || s.state from bpm.skip_node(pg_temp.token(:'c', 'work')) s), 'work:multi:end Completed', 'an item is skipped');
select is(pg_temp.progress(:'c'), 'work:multi Parallel 1 3 3', 'and counts');
select is((select s.node_id || ' ' || s.state from bpm.move_token(pg_temp.token(:'c', 'work'), 'work') s), 'work Waiting', 'one begins anew');
select is((select s.node_id || ' ' || s.state from bpm.move_token(pg_temp.token(:'c', 'work:multi'), 'work:multi') s), 'work:multi Waiting', 'all of it begins anew');
select is(pg_temp.progress(:'c') || test.standing(:'c')::text, 'work:multi Parallel 0 3 3{"out:body Waiting","work Waiting","work Waiting","work Waiting","work:multi Waiting"}', 'from the first');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select is((select s.node_id || ' ' || s.state from bpm.skip_node(pg_temp.token(:'c', 'work:multi')) s), 'b Waiting', 'all of it skipped');
select is(test.standing(:'c'), '{"b Waiting","out:body Waiting"}', 'nothing is left inside');
select ok(pg_temp.replayed(:'c'), 'replay');

-- suspended while items are begun, and while they end
select test.deploy('sus', pg_temp.task('job', pg_temp.multi('bpm:collection="items" bpm:elementVariable="item" bpm:outputCollection="out" bpm:outputElement="r"')) || '<endEvent id="end"/>' || test.flows('start>job', 'job>end')) \gset
select test.start('sus', (select jsonb_build_object('items', jsonb_agg(n)) from generate_series(1, 1003) n)) as d \gset
select count(*) as n from bpm.claim_tasks('w', '{job}', 3) c \gset
select bpm.suspend_process(:'d') is not null as s \gset
select bpm.run_until_idle() as t \gset
select is(pg_temp.progress(:'d'), 'job:multi Parallel 0 1000 1003', 'suspended: nothing more begins');
select string_agg(x.outcome::text, ',') as o from bpm.complete_tasks((select jsonb_agg(jsonb_build_object('task_id', t.id, 'fencing_token', t.fencing_token, 'variables', jsonb_build_object('r', s.mi_index))) from bpm_core.task_instance t join bpm_core.scope s on s.id = t.scope_id where t.workflow_instance_id = test.workflow(:'d') and t.state = 'Executing')) x \gset
select is(pg_temp.progress(:'d'), 'job:multi Parallel 0 1000 1003', 'and none ends');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select bpm.resume_process(:'d') is not null as r \gset
select bpm.run_until_idle() as t \gset
select is(pg_temp.progress(:'d') || :'o', 'job:multi Parallel 3 1003 1003Completed,Completed,Completed', 'resumed: both');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select bpm.cancel_process(:'d') is not null as gone \gset

-- a message boundary without key
select test.deploy('key', pg_temp.task('kt', pg_temp.multi('bpm:collection="items"')) || '<boundaryEvent id="m" attachedToRef="kt"><messageEventDefinition messageRef="mm"/></boundaryEvent><endEvent id="e1"/><endEvent id="e2"/>' || test.flows('start>kt', 'kt>e1', 'm>e2'), '<message id="mm" name="ping" bpm:correlationKey="k"/>') \gset
select test.start('key', '{"items": [1, 2]}') as f \gset
select is(test.incidents(:'f')::text || test.standing(:'f')::text || (select count(*) from bpm_core.multi_instance m where m.workflow_instance_id = test.workflow(:'f')), '{"CorrelationKeyMissing kt:multi"}{"kt:multi Failed"}0', 'a guard that cannot be set: nothing is offered');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select bpm.set_variables(:'f', '{"k": "K"}') is not null as mended \gset
select bpm.resolve_incident((select i.incident_id from bpm.incident i where i.process_instance_id = :'f')) is not null as resolved \gset
select is(test.standing(:'f') || pg_temp.progress(:'f'), '{"kt Waiting","kt Waiting","kt:multi Waiting","kt:multi Parallel 0 2 2"}', 'mended: all of it');
select bpm.correlate_message('ping', 'K', '{}') is not null as m \gset
select bpm.run_until_idle() as t \gset
select is(test.status(:'f'), 'Completed', 'the message ends it');
select ok(pg_temp.replayed(:'f'), 'replay');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;

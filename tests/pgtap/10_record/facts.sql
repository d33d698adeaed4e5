-- Facts: written with the result that says so or not at all; each superseded once; subjects count who spoke of them.
begin;
select plan(66);
select bpm.deploy_bpmn(test.linear('carry', 'load')) is not null as deployed \gset
create function pg_temp.claim(p_n integer default 1) returns jsonb language sql as $$ select c.tasks from bpm.claim_tasks_at('w1', '{load}', p_n) c $$;
create function pg_temp.item(p_tasks jsonb, p_n integer, p_more jsonb) returns jsonb language sql as $$ select test.items(jsonb_build_array(p_tasks -> p_n), p_more) $$;
create function pg_temp.fact(p_name text, p_value jsonb, p_more jsonb default '{}') returns jsonb language sql as
$$ select jsonb_build_object('subject_type', 'shipment', 'subject_key', 'S-1', 'name', p_name, 'value', p_value) || p_more $$;
create function pg_temp.piece(p_key text) returns jsonb language sql as
$$ select jsonb_build_object('object_key', p_key, 'sha256', encode(sha256(convert_to(p_key, 'UTF8')), 'hex')) $$;
create function pg_temp.outcomes(p_items jsonb) returns text[] language sql as $$ select array_agg(c.outcome::text order by c.item) from bpm.complete_tasks(p_items) c $$;
create function pg_temp.facts(p_key text default 'S-1') returns jsonb language sql as $$ select jsonb_build_object('v', s.lock_version) || s.facts from bpm.subject s where s.subject_key = p_key $$;

-- With a result
select count(test.start('carry')) as started from generate_series(1, 12) \gset
select pg_temp.claim(12) as t \gset
select is(pg_temp.outcomes(pg_temp.item(:'t', 0, jsonb_build_object('variables', '{"x": 1}'::jsonb, 'evidence', jsonb_build_array(pg_temp.piece('photo'), pg_temp.piece('slip')),
    'facts', jsonb_build_array(pg_temp.fact('weight', '12.5', '{"evidence": [1, 0], "expected_version": 0}'), pg_temp.fact('place', '"dock"', '{"evidence": [0]}'), pg_temp.fact('seal', 'null'))))),
  '{Completed}', 'taken');
select is(pg_temp.facts(), '{"v": 1, "weight": 12.5, "place": "dock", "seal": null}'::jsonb, 'true of the subject now, which grew by one');
select is((select jsonb_agg(jsonb_build_array(f.name, f.task_id = (:'t'::jsonb #>> '{0,task_id}')::uuid, f.attempt, f.confirmed_by, f.review_id, f.node_id, f.process_instance_id is not null,
    (select array_agg(e.object_key order by e.object_key) from bpm.evidence e where e.evidence_id = any (f.evidence_ids)), f.is_current) order by f.name) from bpm.fact f),
  '[["place", true, 1, "w1", null, "load", true, ["photo"], true], ["seal", true, 1, "w1", null, "load", true, null, true], ["weight", true, 1, "w1", null, "load", true, ["photo", "slip"], true]]'::jsonb, 'with its provenance');
select is((select array_agg(e.object_key::text order by e.object_key) from bpm_core.result_evidence r join bpm.evidence e on e.evidence_id = r.evidence_id where r.task_instance_id = (:'t'::jsonb #>> '{0,task_id}')::uuid), '{photo,slip}',
  'the evidence is linked to the result');
select is((select r.output from bpm_core.result r), '{"x": 1}'::jsonb, 'whose output is what it was');

-- Repeated
select is(pg_temp.outcomes(pg_temp.item(:'t', 0, jsonb_build_object('variables', '{"x": 1}'::jsonb, 'evidence', jsonb_build_array(pg_temp.piece('photo'), pg_temp.piece('slip')),
    'facts', jsonb_build_array(pg_temp.fact('weight', '12.5', '{"evidence": [1, 0], "expected_version": 0}'), pg_temp.fact('place', '"dock"', '{"evidence": [0]}'), pg_temp.fact('seal', 'null'))))),
  '{Completed}', 'an unchanged repeat gets the first answer');
select is(pg_temp.outcomes(pg_temp.item(:'t', 0, '{"variables": {"x": 1}}')), '{Conflict}', 'one without the facts is another answer');
select is(pg_temp.outcomes(pg_temp.item(:'t', 0, jsonb_build_object('variables', '{"x": 1}'::jsonb, 'facts', jsonb_build_array(pg_temp.fact('weight', '1'))))), '{Conflict}', 'so is one with others');
select is(pg_temp.facts(), '{"v": 1, "weight": 12.5, "place": "dock", "seal": null}'::jsonb, 'none of them changed anything');

-- Superseded
select is(pg_temp.outcomes(pg_temp.item(:'t', 1, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('place', '"road"', '{"expected_version": 1}'))))), '{Completed}', 'another result says otherwise, knowing the version');
select is(pg_temp.facts(), '{"v": 2, "weight": 12.5, "place": "road", "seal": null}'::jsonb, 'the last word counts');
select results_eq($$select f.name, f.value, f.is_current, f.subject_version from bpm.get_facts('shipment', 'S-1', true) f$$,
  $$values ('weight', '12.5'::jsonb, true, 1), ('place', '"dock"', false, 1), ('seal', 'null', true, 1), ('place', '"road"', true, 2)$$, 'history has both');
select results_eq($$select f.name from bpm.get_facts('shipment', 'S-1') f$$, $$values ('weight'), ('seal'), ('place')$$, 'asked plainly, what is true now');
select is((select n.value from bpm.fact o join bpm.fact n on n.fact_id = o.superseded_by where o.value = '"dock"'), '"road"'::jsonb, 'what was said names what superseded it');

-- The version moved
select is(pg_temp.outcomes(pg_temp.item(:'t', 2, jsonb_build_object('variables', '{"y": 1}'::jsonb, 'evidence', jsonb_build_array(pg_temp.piece('new')),
    'facts', jsonb_build_array(pg_temp.fact('seal', '7', '{"expected_version": 1}'), pg_temp.fact('other', '1', '{"subject_key": "S-9"}'))))), '{Conflict}', 'expected a version that is gone');
select is((select t.state from bpm.task t where t.task_id = (:'t'::jsonb #>> '{2,task_id}')::uuid), 'Executing', 'the task is still its worker''s');
select is((select count(*) from bpm.evidence e where e.object_key = 'new') + (select count(*) from bpm.fact f where f.subject_key = 'S-9'), 0::bigint, 'nothing of it is applied');
select is(pg_temp.outcomes(pg_temp.item(:'t', 2, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('seal', '7', '{"expected_version": 3, "subject_key": "S-9"}'))))), '{Conflict}', 'expected a subject that is not there');
select throws_ok(format('select * from bpm.complete_task(%L, %s, p_facts => %L)', :'t'::jsonb #>> '{2,task_id}', :'t'::jsonb #>> '{2,fencing_token}', jsonb_build_array(pg_temp.fact('seal', '7', '{"expected_version": 1}'))),
  'BP409', 'Subject shipment S-1 is at version 2, not 1.', 'the single form says why');
select is(pg_temp.outcomes(pg_temp.item(:'t', 2, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('seal', '7', '{"expected_version": 2}'))))), '{Completed}', 'looked again, taken');

-- Several in one call: as if they came one after the other
select is(pg_temp.outcomes(
    pg_temp.item(:'t', 3, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('place', '"gate"', '{"expected_version": 3}'), pg_temp.fact('n', '1', '{"subject_key": "A"}'))))
    || pg_temp.item(:'t', 4, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('place', '"yard"', '{"expected_version": 3}'))))
    || pg_temp.item(:'t', 5, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('place', '"ship"', '{"expected_version": 4}'), pg_temp.fact('n', '2', '{"subject_key": "A"}'))))
    || pg_temp.item(:'t', 6, jsonb_build_object('variables', '{"z": 1}'::jsonb))), '{Completed,Conflict,Completed,Completed}', 'an earlier item counts for a later one');
select is(pg_temp.facts() -> 'place' || jsonb_build_array(pg_temp.facts() -> 'v', pg_temp.facts('A')), '["ship", 5, {"n": 2, "v": 2}]'::jsonb, 'the last word of the call counts');
select results_eq($$select f.value, f.is_current, f.subject_version from bpm.get_facts('shipment', 'S-1', true) f where f.name = 'place'$$,
  $$values ('"dock"'::jsonb, false, 1), ('"road"', false, 2), ('"gate"', false, 4), ('"ship"', true, 5)$$, 'each supersedes the one before');
select is((select array_agg(n.value #>> '{}' order by o.subject_version) from bpm.fact o join bpm.fact n on n.fact_id = o.superseded_by where o.name = 'place'), '{road,gate,ship}', 'in order');

-- The same task twice in one call
select is(pg_temp.outcomes(
    pg_temp.item(:'t', 4, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('b', '1', '{"expected_version": 1}'))))
    || pg_temp.item(:'t', 4, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('b', '2'))))), '{Conflict,Conflict}', 'the first of a task counts, also when it is refused');
select is(pg_temp.outcomes(
    pg_temp.item(:'t', 4, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('b', '1'))))
    || pg_temp.item(:'t', 4, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('b', '2'))))
    || pg_temp.item(:'t', 4, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('b', '1'))))), '{Completed,Conflict,Completed}', 'and when it is taken, once');
select is(pg_temp.facts() -> 'b', '1'::jsonb, 'as it said');
select is((select count(*) from bpm.fact f where f.name = 'b'), 1::bigint, 'once');

-- Who lost writes none
select bpm.fail_tasks(test.items(jsonb_path_query_array(:'t', '$[7]'), '{"retryable": false}')) is not null as failed \gset
select is(pg_temp.outcomes(
    pg_temp.item(jsonb_set(:'t', '{8,fencing_token}', '0'), 8, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('late', '1')))) ||
    pg_temp.item(:'t', 7, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('late', '1')))) ||
    pg_temp.item(:'t', 8, jsonb_build_object('variables', '[1]'::jsonb, 'facts', jsonb_build_array(pg_temp.fact('late', '1')))) ||
    pg_temp.item(jsonb_set(:'t', '{9,task_id}', '"00000000-0000-7000-8000-000000000001"'), 9, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('late', '1', '{"subject_key": "L"}'))))),
  '{LeaseLost,WrongState,Rejected,NotFound}', 'lost leases, closed tasks, refused answers, tasks that are not there');
select is((select count(*) from bpm.fact f where f.name = 'late') + (select count(*) from bpm.subject s where s.subject_key = 'L'), 0::bigint, 'leave no facts');

-- While suspended the answer is kept, and what it says is true
select t.process_instance_id as p from bpm.task t where t.task_id = (:'t'::jsonb #>> '{8,task_id}')::uuid \gset
select bpm.suspend_process(:'p', 'look') is not null as suspended \gset
select is(pg_temp.outcomes(pg_temp.item(:'t', 8, jsonb_build_object('facts', jsonb_build_array(pg_temp.fact('parked', '1'))))), '{Completed}', 'an answer to a suspended instance');
select is(pg_temp.facts() -> 'parked', '1'::jsonb, 'is accepted, facts and all');
select bpm.resume_process(:'p') is not null as resumed \gset
select bpm.run_until_idle() is not null as ran \gset
select is((select count(*) from bpm.fact f where f.name = 'parked'), 1::bigint, 'once, also after resume');

-- Evidence
select e.evidence_id as photo from bpm.evidence e where e.object_key = 'photo' \gset
select e.evidence_id as slip from bpm.evidence e where e.object_key = 'slip' \gset
select p.is_new from bpm.purge_evidence(:'slip', 'old') p \gset purged_
select is(pg_temp.outcomes(pg_temp.item(:'t', 9, jsonb_build_object('evidence', jsonb_build_array(pg_temp.piece('slip')), 'facts', jsonb_build_array(pg_temp.fact('c', '1', '{"evidence": [0]}'))))), '{Conflict}', 'evidence that was purged');
select is(pg_temp.outcomes(pg_temp.item(:'t', 9, jsonb_build_object('evidence', '[{"evidence_id": "00000000-0000-7000-8000-000000000001"}]'::jsonb))), '{Conflict}', 'or was never there');
select throws_ok(format('select * from bpm.complete_task(%L, %s, p_evidence => %L)', :'t'::jsonb #>> '{9,task_id}', :'t'::jsonb #>> '{9,fencing_token}', jsonb_build_array(pg_temp.piece('slip'))),
  'BP409', 'Evidence was purged or is not there; nothing new may refer to it.', 'the single form says so');
select is(pg_temp.outcomes(pg_temp.item(:'t', 9, jsonb_build_object('evidence', jsonb_build_array(jsonb_build_object('evidence_id', :'photo'), pg_temp.piece('new')),
   'facts', jsonb_build_array(pg_temp.fact('c', '"__var:1:[1]"', '{"evidence": [0, 1, 0]}'))))), '{Completed}', 'what is kept already is named');
select is((select jsonb_build_array(f.value, cardinality(f.evidence_ids), :'photo' = any (f.evidence_ids)) from bpm.fact f where f.name = 'c'), '[[1], 2, true]'::jsonb, 'values come in the wire forms of variables');
select is((select e.purged_at is not null from bpm.evidence e join bpm.fact f on e.evidence_id = any (f.evidence_ids) where f.name = 'weight' and e.evidence_id = :'slip'), true, 'what referred to it before still does');

-- Refused
select is(pg_temp.outcomes(pg_temp.item(:'t', 10, x.more::jsonb)), '{Rejected}', 'refused: ' || left(x.more, 100))
  from (values ('{"facts": {}}'), ('{"facts": [5]}'), ('{"facts": [{}]}'), ('{"facts": [{"subject_type": "s", "subject_key": "k", "name": "n"}]}'), ('{"facts": [{"subject_type": "", "subject_key": "k", "name": "n", "value": 1}]}'),
               ('{"facts": [{"subject_type": "s", "subject_key": 5, "name": "n", "value": 1}]}'), ('{"facts": [{"subject_type": "s", "subject_key": "k", "name": "n", "value": 1, "x": 1}]}'),
               ('{"facts": [{"subject_type": "s", "subject_key": "k", "name": "n", "value": 1, "evidence": [0]}]}'), ('{"facts": [{"subject_type": "s", "subject_key": "k", "name": "n", "value": 1, "evidence": [1e30]}]}'),
               ('{"facts": [{"subject_type": "s", "subject_key": "k", "name": "n", "value": 1, "expected_version": -1}]}'), ('{"facts": [{"subject_type": "s", "subject_key": "k", "name": "n", "value": "__forged:1"}]}'),
               ('{"facts": [{"subject_type": "s", "subject_key": "k", "name": "n", "value": 1}, {"subject_type": "s", "subject_key": "k", "name": "n", "value": 1}]}'),
               ('{"evidence": [{"object_key": "https://a:b@c/d", "sha256": "' || repeat('0', 64) || '"}]}')) x (more);
select throws_ok(format('select * from bpm.complete_task(%L, %s, p_facts => ''[5]'')', :'t'::jsonb #>> '{10,task_id}', :'t'::jsonb #>> '{10,fencing_token}'), 'BP422', 'Fact 1: it must be an object.', 'the single form says why');
select is(pg_temp.outcomes(pg_temp.item(:'t', 10, '{"evidence": null, "facts": []}')), '{Completed}', 'none are none');

-- A result that does not meet its schema
select bpm.publish_task('strict', p_result_schema => '{"type": "object", "required": ["ok"]}') \g /dev/null
select bpm.deploy_bpmn(test.linear('strictly', 'strict')) \g /dev/null
select count(test.start('strictly')) from generate_series(1, 2) \g /dev/null
select c.tasks as s from bpm.claim_tasks_at('w1', '{strict}', 2) c \gset
create function pg_temp.both(p_result jsonb) returns jsonb language sql as $$
  select jsonb_build_object('result', p_result, 'facts', jsonb_build_array(pg_temp.fact('n', '1', '{"subject_key": "M", "expected_version": 0}'))) $$;
select is(pg_temp.outcomes(pg_temp.item(:'s', 0, pg_temp.both('{}')) || pg_temp.item(:'s', 1, jsonb_set(pg_temp.both('{"ok": 1}'), '{facts,0,expected_version}', '1'))), '{Rejected,Conflict}',
  'brings no facts, and nobody can count on them');
select is((select count(*) from bpm.fact f where f.subject_key = 'M'), 0::bigint, 'none of both');
select is(pg_temp.outcomes(pg_temp.item(:'s', 0, pg_temp.both('{"ok": 1}')) || pg_temp.item(:'s', 1, jsonb_set(pg_temp.both('{"ok": 1}'), '{facts,0,expected_version}', '1'))), '{Completed,Completed}',
  'with one that does, both are written');

-- People
select test.deploy('ask', '<userTask id="look"/><endEvent id="end"/>' || test.flows('start>look', 'look>end')) \gset
select test.start('ask') as u \gset
select t.task_id as look from bpm.task t where t.process_instance_id = :'u' \gset
select throws_ok(format('select * from bpm.complete_user_task(%L, p_facts => %L)', :'look', jsonb_build_array(pg_temp.fact('ok', 'true', '{"expected_version": 1}'))), 'BP409',
  format('Subject shipment S-1 is at version %s, not 1.', pg_temp.facts() -> 'v'), 'a person has to look again too');
select throws_ok(format('select * from bpm.complete_user_task(%L, p_facts => ''[1]'')', :'look'), 'BP422', 'Fact 1: it must be an object.', 'and has to be understood');
select is((select array_agg(c.outcome::text) from generate_series(1, 2) cross join lateral bpm.complete_user_task(:'look', '{"fine": true}', 'ann', jsonb_build_array(pg_temp.piece('signature')), jsonb_build_array(pg_temp.fact('ok', 'true', '{"evidence": [0]}'))) c),
  '{Completed,Completed}', 'a person''s answer, and its repeat');
select is((select jsonb_agg(jsonb_build_array(f.value, f.confirmed_by, cardinality(f.evidence_ids))) from bpm.fact f where f.name = 'ok'), '[[true, "ann", 1]]'::jsonb, 'brings facts too, once');
select throws_ok(format('select * from bpm.complete_user_task(%L, ''{"fine": true}'', ''ann'')', :'look'), 'BP409', null, 'without them it is another answer');

-- Another tenant
select is((select count(*) from bpm.get_facts('shipment', 'nothing')), 0::bigint, 'nothing is known');
select bpm.create_tenant('Other', 'other') is not null as made \gset
select is((select count(*) from bpm.get_facts('shipment', 'S-1', true, 'other')), 0::bigint, 'another tenant knows nothing of it');
select throws_ok($$select * from bpm.get_facts('shipment', 'S-1', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not granted');

select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;

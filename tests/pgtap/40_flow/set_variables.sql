-- bpm.set_variables and bpm.get_variables.
begin;
select plan(33);
select bpm.deploy_bpmn(test.linear('job', 'work')) is not null as deployed \gset
select test.start('job', '{"a": 1, "b": 2}') as p \gset
select w.lock_version as before from bpm_core.workflow_instance w where w.id = test.workflow(:'p') \gset

select is(bpm.set_variables(:'p', '{"b": 3, "c": "__var:1:{\"x\": 1}", "d": null}', 'ann'), '{"a": 1, "b": 3, "c": {"x": 1}, "d": null}'::jsonb, 'only the keys named change; the answer is how they are now');
select is(bpm.get_variables(:'p'), '{"a": 1, "b": 3, "c": {"x": 1}, "d": null}'::jsonb, 'as they are read');
select is((select c.variables from bpm.claim_tasks('w', '{work}') c), '{"a": 1, "b": 3, "c": {"x": 1}, "d": null}'::jsonb, 'and as the worker gets them');
select is((select h.actor || ' ' || h.detail from bpm.get_history(:'p') h where h.kind = 'VariablesSet'), 'ann {"variables": {"b": 3, "c": {"x": 1}, "d": null}}', 'history has the patch');
select is((select e.actor || ' ' || e.action || ' ' || e.detail from bpm_core.audit_event e where e.aggregate_id = :'p'), 'ann SetVariables {"names": ["b", "c", "d"]}', 'audit the names');
select is((select w.lock_version - :before from bpm_core.workflow_instance w where w.id = test.workflow(:'p')), 1, 'the instance is written once');
select is((select p.variables from bpm_core.process_instance p where p.id = :'p'), '{"a": 1, "b": 2}'::jsonb, 'what it was started with stays on record');
select is(bpm.set_variables(:'p', '{}'), bpm.get_variables(:'p'), 'an empty patch changes nothing');

select is(bpm.get_variables(:'p', p_form => 'text'), '{"a": "__var:1:1", "b": "__var:1:3", "c": "__var:1:{\"x\": 1}", "d": "__var:1:null"}'::jsonb, 'or as texts, for those who have a map of texts');
select is(bpm.get_variables(:'p', p_form => 'json'), bpm.get_variables(:'p'), 'json is the default');
select throws_ok(format('select bpm.get_variables(%L, p_form => ''xml'')', :'p'), 'BP400', null, 'other forms there are none');

-- Only if nobody was faster
select is(bpm.set_variables(:'p', '{"a": 2}', p_expected => '{"a": 1, "c": {"x": 1}, "d": null, "nowhere": null}') ->> 'a', '2', 'as expected; missing and null are the same');
select throws_ok(format('select bpm.set_variables(%L, ''{"a": 3, "b": 4}'', p_expected => ''{"a": 1, "b": 9, "d": null}'')', :'p'), 'BP409', 'Not as expected any more: a, b. Nothing was changed.',
                 'not as expected: the names, never the values');
select throws_ok(format('select bpm.set_variables(%L, ''{"a": 3}'', p_expected => ''{"nowhere": 1}'')', :'p'), 'BP409', null, 'one that is not there');
select throws_ok(format('select bpm.set_variables(%L, ''{"a": 3}'', p_expected => ''[]'')', :'p'), 'BP422', 'p_expected must be a JSON object, not array.', 'expectations that are no object');
select throws_ok(format('select bpm.set_variables(%L, ''{"a": 3}'', p_expected => ''null'')', :'p'), 'BP422', null, 'or JSON null');
select is(bpm.get_variables(:'p') ->> 'a', '2', 'nothing was changed');
select throws_ok(format('select bpm.set_variables(%L, ''{"a": 3}'', p_expected => ''{"a": 1}'', p_token_id => (select k.id from bpm_core.token k where k.workflow_instance_id = test.workflow(%L)))', :'p', :'p'), 'BP409', null, 'nor at a token');
select is(bpm.set_variables(:'p', '{"a": 1}', p_expected => '{"a": 2.0}', p_token_id => (select k.id from bpm_core.token k where k.workflow_instance_id = test.workflow(:'p'))) ->> 'a', '1', 'where numbers are compared as numbers');

-- Refused
select throws_ok(format('select bpm.set_variables(%L, ''[]'')', :'p'), 'BP422', null, 'variables that are no object');
select throws_ok(format('select bpm.set_variables(%L, null)', :'p'), 'BP422', null, 'none');
select throws_ok(format('select bpm.set_variables(%L, ''{"x": "__odd:1"}'')', :'p'), 'BP422', null, 'a value that forges a reserved prefix');
select throws_ok($$select bpm.set_variables('00000000-0000-7000-8000-000000000001', '{}')$$, 'BP404', null, 'a process that is not there');
select throws_ok(format('select bpm.set_variables(%L, ''{}'', p_tenant_id => ''nobody'')', :'p'), 'BP403', null, 'a tenant that is not ours');
select throws_ok($$select bpm.get_variables('00000000-0000-7000-8000-000000000001')$$, 'BP404', null, 'nor has it variables');
select throws_ok($$select bpm.get_variables(null)$$, 'BP404', null, 'no process, no variables');
select throws_ok(format('select bpm.get_variables(%L, p_tenant_id => ''nobody'')', :'p'), 'BP403', null, 'another tenant''s are not ours to read');
select bpm.create_tenant('Other', 'other') is not null as made \gset
select throws_ok(format('select bpm.get_variables(%L, p_tenant_id => ''other'')', :'p'), 'BP404', null, 'nor are ours another tenant''s');
select throws_ok(format('select bpm.set_variables(%L, ''{"x": 1}'', p_tenant_id => ''other'')', :'p'), 'BP404', null, 'to read or to set');
select is((select count(*) from bpm.get_history(:'p') h where h.kind = 'VariablesSet'), 4::bigint, 'nothing was written by them');
select bpm.cancel_process(:'p') is not null as cancelled \gset
select throws_ok(format('select bpm.set_variables(%L, ''{"x": 1}'')', :'p'), 'BP409', null, 'a process that has ended');
select is(bpm.get_variables(:'p') - '{a,b,c,d}'::text[], '{}'::jsonb, 'keeps its variables');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

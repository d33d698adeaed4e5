-- bpm.start_process: one process, pinned, once per idempotency key.
begin;
select plan(40);
select bpm.deploy_bpmn(test.linear('order', 'pack', 'ship')) is not null as deployed \gset

-- An ordinary start
select s.* from bpm.start_process('order', '{"amount": 1200, "note": "__var:1:{\"deep\": [1, 2]}", "secret": "__encrypted:abc"}', 'A-1', p_actor => 'ann') s \gset a_
select is(:'a_status'::text || ' ' || :'a_is_new', 'Running t', 'it runs, and it is new');
select is((select i.process_code || ' ' || i.process_version || ' ' || i.business_key || ' ' || i.started_by from bpm.instance i
            where i.process_instance_id = :'a_process_instance_id'), 'order 1 A-1 ann', 'pinned to its version, under its key, by its actor');
select is((select i.workflow_instance_id from bpm.instance i where i.process_instance_id = :'a_process_instance_id'), :'a_workflow_instance_id'::uuid,
          'its workflow instance is the one named');
select is(bpm.get_variables(:'a_process_instance_id'), '{"amount": 1200, "note": {"deep": [1, 2]}, "secret": "__encrypted:abc"}'::jsonb,
          'the wire form of JSON is decoded, the encrypted one stays as it is');
select is(test.standing(:'a_process_instance_id'), '{pack Waiting}', 'its token rests at the first task');
select is((select t.state || ' ' || t.task_type || ' ' || t.attempt from bpm.task t where t.process_instance_id = :'a_process_instance_id'), 'Ready pack 0', 'which is offered');
select is(test.history(:'a_process_instance_id'), '{InstanceStarted 1}', 'one row of history');
select is((select h.actor || ' ' || h.to_state from bpm.get_history(:'a_process_instance_id') h), 'ann Running', 'that says who started it');

-- Defaults
select s.* from bpm.start_process('order') s \gset b_
select is(bpm.get_variables(:'b_process_instance_id'), '{}'::jsonb, 'no variables: an empty map');
select is((select p.business_case_id from bpm_core.process_instance p where p.id = :'b_process_instance_id'), null, 'no business key: no business case');
select is((select i.started_by from bpm.instance i where i.process_instance_id = :'b_process_instance_id'), current_user::text, 'no actor: the caller''s role');
select lives_ok($$select * from bpm.start_process('order', null)$$, 'null variables are an empty map');

-- The business case is made once per key
select test.start('order', '{}', 'A-1') as again \gset
select is((select count(*) from bpm_core.business_case c where c.business_key = 'A-1'), 1::bigint, 'one business case per key');
select is((select count(distinct p.business_case_id) from bpm_core.process_instance p where p.business_key = 'A-1'), 1::bigint, 'which owns both processes');

-- Versions
select bpm.deploy_bpmn(test.linear('order', 'pack')) is not null as deployed \gset
select test.start('order') as latest \gset
select is((select i.process_version from bpm.instance i where i.process_instance_id = :'latest'), 2, 'a start takes the latest version');
select is((select i.process_version from bpm.instance i where i.process_instance_id = :'a_process_instance_id'), 1, 'a running instance keeps its own');
select s.process_instance_id as pinned from bpm.start_process('order', p_version => 1) s \gset
select is((select i.process_version from bpm.instance i where i.process_instance_id = :'pinned'), 1, 'a version can be named');

-- Idempotency keys
select count(*) as before from bpm_core.process_instance \gset
select s.* from bpm.start_process('order', '{"x": 1, "y": 2}', 'A-2', 'key-1') s \gset first_
select s.* from bpm.start_process('order', '{"y": 2, "x": 1}', 'A-2', 'key-1') s \gset second_
select is(:'first_is_new'::text || :'second_is_new', 'tf', 'the same key again starts nothing');
select is(:'second_process_instance_id'::text || :'second_workflow_instance_id', :'first_process_instance_id'::text || :'first_workflow_instance_id', 'the answer is the first one''s');
select is((select count(*) from bpm_core.process_instance) - :before, 1::bigint, 'one instance (A-15)');
select is(test.history(:'first_process_instance_id'), '{InstanceStarted 1}', 'and one history');
select throws_ok($$select * from bpm.start_process('order', '{"x": 2, "y": 2}', 'A-2', 'key-1')$$, 'BP409', null, 'other variables under a used key are a conflict');
select throws_ok($$select * from bpm.start_process('order', '{"x": 1, "y": 2}', 'A-3', 'key-1')$$, 'BP409', null, 'so is another business key');
select throws_ok($$select * from bpm.start_process('order', '{"x": 1, "y": 2}', 'A-2', 'key-1', 1)$$, 'BP409', null, 'and another version');
select is((select count(*) from bpm_core.process_instance) - :before, 1::bigint, 'a conflict starts nothing');
select bpm.cancel_process(:'first_process_instance_id') is not null as cancelled \gset
select is((select s.status || ' ' || s.is_new from bpm.start_process('order', '{"x": 1, "y": 2}', 'A-2', 'key-1') s), 'Cancelled false', 'a repeat tells how the instance stands now');
update bpm_core.process_definition d set archived_at = bpm_core.now() where d.code = 'order';
select is((select s.process_instance_id from bpm.start_process('order', '{"x": 1, "y": 2}', 'A-2', 'key-1') s), :'first_process_instance_id'::uuid,
          'a repeat gets the first answer even when the process cannot be started any more');
select throws_ok($$select * from bpm.start_process('order')$$, 'BP404', null, 'an archived process is not started');
update bpm_core.process_definition d set archived_at = null where d.code = 'order';

-- Refused
select is(kit.raised($$select * from bpm.start_process('nowhere', p_version => 3)$$) - 'message',
          '{"code": "BP404", "detail": {"code": "nowhere", "version": 3, "outcome": "NotFound"}, "hint": "See the view bpm.definition; deploy with bpm.deploy_bpmn."}'::jsonb,
          'an unknown process: which, and what to do');
select throws_ok($$select * from bpm.start_process('order', p_version => 99)$$, 'BP404', null, 'an unknown version');
select throws_ok($$select * from bpm.start_process(null)$$, 'BP400', null, 'no code');
select throws_ok($$select * from bpm.start_process('order', '[1]')$$, 'BP422', null, 'variables that are no object');
select throws_ok($$select * from bpm.start_process('order', '{"a": "__secret:1"}')$$, 'BP422', null, 'a value that forges a reserved prefix');
select throws_ok($$select * from bpm.start_process('order', '{"a": "__var:1:{broken"}')$$, 'BP422', null, 'a wire form that is no JSON');
select throws_ok($$select * from bpm.start_process('order', jsonb_build_object('a', repeat(md5(random()::text), 40000)))$$, 'BP422', null, 'variables over the cap');
select throws_ok($$select * from bpm.start_process('order', '{}', '')$$, 'BP400', null, 'an empty business key');
select throws_ok($$select * from bpm.start_process('order', '{}', p_idempotency_key => repeat('k', 301))$$, 'BP400', null, 'an over-long idempotency key');
select throws_ok($$select * from bpm.start_process('order', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is((select count(*) from bpm_core.idempotency_key k where k.key like 'kkk%'), 0::bigint, 'a refused start leaves no key behind');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

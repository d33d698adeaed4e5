-- bpm.start_processes: a batch of starts, each with its outcome.
begin;
select plan(42);
select bpm.deploy_bpmn(test.linear('order', 'pack')) is not null as deployed \gset
select test.deploy('empty', '<endEvent id="end"/>' || test.flows('start>end')) \gset

create temp table answer as
select s.* from bpm.start_processes('[
  {"code": "order", "variables": {"n": 1}, "business_key": "B", "idempotency_key": "k1"},
  {"code": "order", "variables": {"n": 1}, "business_key": "B", "idempotency_key": "k1"},
  {"code": "order", "variables": {"n": 2}, "business_key": "B", "idempotency_key": "k1"},
  {"code": "order", "variables": {"n": 4}},
  {"code": "nowhere", "idempotency_key": "k2"},
  {"code": "order", "version": 7},
  {"code": "order", "variables": 5},
  {"code": "order", "variables": {"a": "__plain:b"}, "idempotency_key": "k3"},
  {"code": "empty", "version": 1, "variables": null, "business_key": "B", "idempotency_key": null},
  {"code": "order"}]') s;
select is((select array_agg(a.item order by a.item) from answer a), '{1,2,3,4,5,6,7,8,9,10}', 'one row per item, counted from 1');
select is((select array_agg(a.outcome::text order by a.item) from answer a),
          '{Done,Done,Conflict,Done,NotFound,NotFound,Rejected,Rejected,Done,Done}', 'each with its outcome');
select is((select array_agg(a.is_new order by a.item) from answer a), '{t,f,f,t,f,f,f,f,t,t}', 'and whether it is new');
select is((select count(distinct a.process_instance_id) from answer a where a.item in (1, 2)), 1::bigint, 'the same key twice in one batch: one instance');
select is((select count(*) from bpm_core.process_instance), 4::bigint, 'four instances in all');
select is((select array_agg(a.item order by a.item) from answer a where a.process_instance_id is null or a.workflow_instance_id is null or a.status is null),
          '{3,5,6,7,8}', 'what did not start has no instance');
select is((select array_agg(a.item order by a.item) from answer a where a.message is not null), '{3,5,6,7,8}', 'but a reason');
select is((select array_agg(a.status order by a.item) from answer a where a.status is not null), '{Running,Running,Running,Completed,Running}',
          'an instance without tasks has ended in its start');
select is((select array_agg(i.variables -> 'n' order by a.item) from answer a join bpm.instance i on i.process_instance_id = a.process_instance_id), '{1,1,4,NULL,NULL}',
          'each with its own variables');
select is((select count(*) from bpm_core.business_case), 1::bigint, 'the business case of three items is made once');
select is((select count(*) from bpm_core.idempotency_key), 1::bigint, 'validation errors are not stored under their key');
select is((select count(*) from bpm.task t where t.state = 'Ready'), 3::bigint, 'three tasks are offered');
select is((select s.outcome || ' ' || s.is_new from bpm.start_processes('[{"code": "order", "variables": {"a": "b"}, "idempotency_key": "k3"}]') s), 'Done true',
          'a refused start may be repeated rightly under its key');
select is((select s.message from bpm.start_processes('[{"code": "nowhere", "idempotency_key": "k1"}]') s), 'There is no process ''nowhere'' that can be started.',
          'an unknown process under a used key: the message fits the outcome');
select test.deploy('gone', test.service('t') || '<endEvent id="end"/>' || test.flows('start>t', 't>end')) is not null as deployed \gset
select bpm.deprecate_process('gone', 1) is not null as deprecated \gset
select is((select s.message from bpm.start_processes('[{"code": "gone"}]') s), 'Process ''gone'' has no current version.', 'why: all its versions are out of use');
select is((select s.message from bpm.start_processes('[{"code": "gone", "version": 1}]') s), 'Version 1 of process ''gone'' is deprecated.', 'why: this one is');
select bpm.archive_definition('process', 'gone') is not null as archived \gset
select is((select s.outcome || ' ' || s.message from bpm.start_processes('[{"code": "gone"}]') s), 'NotFound Process ''gone'' is archived.', 'why: it was archived');
select is((select array_agg(s.outcome::text || s.is_new order by s.item) from bpm.start_processes('[
  {"code": "order", "variables": {"n": 1}, "business_key": "B", "idempotency_key": "k1"}, {"code": "order", "idempotency_key": "k4"}]') s), '{Donefalse,Donetrue}',
          'repeated and new starts in one batch');
select is((select count(*) from bpm.start_processes('[]')), 0::bigint, 'no items, no rows');

-- The keys of one tenant say nothing about another's
select bpm.create_tenant('Other', 'other') is not null as made \gset
select bpm.deploy_bpmn(test.linear('order', 'pack'), p_tenant_id => 'other') is not null as deployed \gset
select is((select s.outcome || ' ' || s.is_new from bpm.start_processes('[{"code": "order", "variables": {"n": 9}, "idempotency_key": "k1"}]', p_tenant_id => 'other') s),
          'Done true', 'another tenant has its own keys');

-- Ill-formed calls change nothing
select count(*) as before from bpm_core.process_instance \gset
select throws_ok($$select * from bpm.start_processes(null)$$, 'BP400', null, 'no items');
select throws_ok($$select * from bpm.start_processes('{"code": "order"}')$$, 'BP400', null, 'an object instead of an array');
select throws_ok($$select * from bpm.start_processes('["order"]')$$, 'BP400', null, 'an item that is no object');
select throws_ok($$select * from bpm.start_processes('[null]')$$, 'BP400', null, 'an item that is null');
select throws_ok($$select * from bpm.start_processes('[{"variables": {}}]')$$, 'BP400', null, 'an item without a code');
select throws_ok($$select * from bpm.start_processes('[{"code": 5}]')$$, 'BP400', null, 'a code that is no text');
select throws_ok($$select * from bpm.start_processes('[{"code": "order", "varibles": {}}]')$$, 'BP400', null, 'an unknown key');
select throws_ok($$select * from bpm.start_processes('[{"code": "order", "version": -1}]')$$, 'BP400', null, 'a version below 0');
select throws_ok($$select * from bpm.start_processes('[{"code": "order", "version": "1"}]')$$, 'BP400', null, 'a version that is a text');
select throws_ok($$select * from bpm.start_processes('[{"code": "order", "version": 1.5}]')$$, 'BP400', null, 'a version that is no whole number');
select throws_ok($$select * from bpm.start_processes('[{"code": "order", "business_key": 5}]')$$, 'BP400', null, 'a business key that is no text');
select throws_ok($$select * from bpm.start_processes('[{"code": "order", "idempotency_key": ["k"]}]')$$, 'BP400', null, 'an idempotency key that is no text');
select throws_ok($$select * from bpm.start_processes('[{"code": "order", "business_key": ""}]')$$, 'BP400', null, 'an empty business key');
select is(kit.raised($$select * from bpm.start_processes('[{"code": "order"}, {"code": "order", "when": 1}]')$$) #> '{detail,item}', '2', 'the answer names the item');
select throws_ok($$select * from bpm.start_processes((select jsonb_agg('{"code": "order"}'::jsonb) from generate_series(1, 1001)))$$, 'BP429', null, '1001 items');
select throws_ok($$select * from bpm.start_processes('[]', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select throws_ok($$select * from bpm.start_processes('[]', p_tenant_id => null)$$, 'BP400', null, 'a tenant that is null');
select is((select count(*) from bpm_core.process_instance), :before::bigint, 'none of them started anything');
select is((select count(*) from bpm.start_processes((select jsonb_agg('{"code": "order"}'::jsonb) from generate_series(1, 1000))) s where s.is_new), 1000::bigint, '1000 items are taken');
select is((select string_agg(s.outcome::text, ' ' order by s.item) from bpm.start_processes(jsonb_build_array('{"code": "order"}'::jsonb,
            jsonb_build_object('code', 'order', 'idempotency_key', 'numbers', 'variables', ('{"a": [' || rtrim(repeat('1e131071,', 9000), ',') || ']}')::jsonb)))  s), 'Done Rejected',
          'variables that have no text are refused, and nothing else');
-- Two items of 900 bytes, whose texts have 10 MB
set local temp_file_limit = 0;
select is((select string_agg(distinct s.outcome::text, ' ') from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'order', 'variables', v.numbers))
            from generate_series(1, 2), (select jsonb_object_agg('n' || i, '1e131000'::jsonb) from generate_series(1, 40) i) v(numbers))) s), 'Rejected',
          'numbers of few bytes and many digits do not fill the disk');
reset temp_file_limit;
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

-- bpm.set_routing_rule, bpm.delete_routing_rule: what a rule may say, and what is refused when it is set.
begin;
select plan(52);
select bpm.deploy_bpmn(test.linear('order', 'a'));
select test.deploy('waits', '<intermediateCatchEvent id="m"><messageEventDefinition messageRef="msg"/></intermediateCatchEvent><endEvent id="end"/>' || test.flows('start>m', 'm>end'), '<message id="msg" name="paid"/>');
select bpm.deploy_bpmn(test.bpmn('by-message', '<startEvent id="s"><messageEventDefinition messageRef="m"/></startEvent><endEvent id="e"/>' || test.flows('s>e'), '<message id="m" name="go"/>'));

select is((select concat_ws(' ', r.code, r.is_new) from bpm.set_routing_rule('new-order', 'order.created', 'StartProcess', '${payload.amount > 10}', 'shop', 'order', 'payload.order.id',
             p_variables => '{"id": "${payload.order.id}", "source": "shop"}', p_priority => 5, p_reason => 'orders') r), 'new-order t', 'a rule is set');
select is((select to_jsonb(r) - '{tenant_id,created_at,updated_at,updated_by}'::text[] from bpm.routing_rule r),
  '{"code": "new-order", "event_type": "order.created", "channel": "shop", "priority": 5, "condition": "${payload.amount > 10}", "action": "StartProcess", "process_code": "order",
    "business_key_path": "payload.order.id", "message_name": null, "correlation_path": null, "message_ttl": null, "variables": {"id": "${payload.order.id}", "source": "shop"}, "reason": "orders"}'::jsonb,
  'the view shows it as it was given');
select is((select concat_ws(' ', a.actor = session_user, a.aggregate_id, a.reason, a.detail ->> 'process_code') from bpm_core.audit_event a where a.action = 'SetRoutingRule'), 't new-order orders order', 'audited');
select is((select s.rules_version from bpm_core.routing_state s), 1::bigint, 'the rules have a version');
select is((select r.is_new from bpm.set_routing_rule('new-order', 'order.*', 'Ignore') r), false, 'set again, it is changed');
select is((select concat_ws(' ', r.event_type, r.action, coalesce(r.channel, '-'), r.priority, coalesce(r.condition, '-'), coalesce(r.process_code, '-'), coalesce(r.variables::text, '-')) from bpm.routing_rule r),
  'order.* Ignore - 0 - - -', 'as a whole: what is not given is the default');
select is((select s.rules_version from bpm_core.routing_state s), 2::bigint, 'another version');

-- What each action takes
select lives_ok($$select * from bpm.set_routing_rule('c1', 'paid', 'Correlate', p_message_name => 'paid', p_correlation_path => 'payload.order', p_message_ttl => '2 days')$$, 'Correlate by path');
select lives_ok($$select * from bpm.set_routing_rule('c2', 'paid', 'Correlate', p_message_name => 'paid', p_business_key_path => '=payload.order')$$, 'Correlate by business key');
select lives_ok($$select * from bpm.set_routing_rule('a1', '*', 'Attach', p_business_key_path => 'event.thread_id', p_process_code => 'waits')$$, 'Attach');
select lives_ok($$select * from bpm.set_routing_rule('a2', 'a.b.*', 'Attach', p_business_key_path => 'event.thread_id', p_message_name => 'paid', p_variables => '{"a": "b"}')$$, 'Attach with a message');
select lives_ok($$select * from bpm.set_routing_rule('h', 'x', 'AskHuman', p_reason => 'who wants this?')$$, 'AskHuman');
select lives_ok($$select * from bpm.set_routing_rule('o', 'x', 'Outside')$$, 'Outside');
select lives_ok($$select * from bpm.set_routing_rule('l', 'x', 'Ignore', '= some x in payload.lines satisfies x.qty > 1')$$, 'a condition may name what its loops run over');
select is((select r.message_ttl from bpm.routing_rule r where r.code = 'c1'), interval '2 days', 'with a time to live');

-- What it refuses
select throws_ok($$select * from bpm.set_routing_rule('', 'x', 'Ignore')$$, 'BP400', null, 'BP400: no code');
select throws_ok($$select * from bpm.set_routing_rule('x', '', 'Ignore')$$, 'BP400', null, 'BP400: no type');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Ignore', p_priority => null)$$, 'BP400', null, 'BP400: no priority');
select throws_ok($$select * from bpm.set_routing_rule('x', 'or*', 'Ignore')$$, 'BP422', null, 'BP422: a star within a word');
select throws_ok($$select * from bpm.set_routing_rule('x', '*.created', 'Ignore')$$, 'BP422', null, 'BP422: a star at the beginning');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Explode')$$, 'BP422', null, 'BP422: no action of ours');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', null)$$, 'BP422', null, 'BP422: no action');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess')$$, 'BP422', null, 'BP422: StartProcess without a process');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess', p_process_code => 'nothing')$$, 'BP422', 'There is no process ''nothing'' that can be started.', 'BP422: an unknown process');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess', p_process_code => 'by-message')$$, 'BP422', null, 'BP422: one that is started by a message');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess', p_process_code => 'order', p_message_name => 'm')$$, 'BP422', null, 'BP422: StartProcess with a message');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Correlate', p_correlation_path => 'payload.a')$$, 'BP422', null, 'BP422: Correlate without a message');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Correlate', p_message_name => 'm')$$, 'BP422', null, 'BP422: Correlate without a key');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Correlate', p_message_name => 'm', p_correlation_path => 'payload.a', p_process_code => 'order')$$, 'BP422', null, 'BP422: Correlate with a process');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Attach')$$, 'BP422', null, 'BP422: Attach to nothing');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Attach', p_business_key_path => 'payload.a', p_process_code => 'nothing')$$, 'BP422', null, 'BP422: Attach to an unknown process');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Attach', p_business_key_path => 'payload.a', p_correlation_path => 'payload.a')$$, 'BP422', null, 'BP422: a correlation path without a message');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Attach', p_business_key_path => 'payload.a', p_variables => '{"a": "b"}')$$, 'BP422', null, 'BP422: variables for nobody');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Ignore', p_business_key_path => 'payload.a')$$, 'BP422', null, 'BP422: Ignore with a key');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess', p_process_code => 'order', p_variables => '[]')$$, 'BP422', null, 'BP422: variables that are no object');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess', p_process_code => 'order', p_variables => '{"a": 1}')$$, 'BP422', null, 'BP422: variables that are no texts');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Correlate', p_message_name => 'm', p_correlation_path => 'payload.a', p_message_ttl => '-1 s')$$, 'BP422', null, 'BP422: a negative time to live');
-- Expressions
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Ignore', '${amount > 5}')$$, 'BP422', 'The condition of the rule cannot be read: amount is nothing an event has; write payload.amount for what it brings.', 'BP422: a condition over what no event has');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Ignore', '${payload.amount >}')$$, 'BP422', null, 'BP422: a condition that cannot be read');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Ignore', '= payload.a + 1')$$, 'BP422', null, 'BP422: a condition that is neither true nor false');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess', p_process_code => 'order', p_business_key_path => 'payload..id')$$, 'BP422', null, 'BP422: a path that cannot be read');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess', p_process_code => 'order', p_business_key_path => 'id')$$, 'BP422', null, 'BP422: a path to what no event has');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'StartProcess', p_process_code => 'order', p_variables => '{"a": "${id}"}')$$, 'BP422', null, 'BP422: a mapping of what no event has');
select is((select count(*) from bpm.routing_rule r where r.code = 'x'), 0::bigint, 'nothing of this was set');
select is((select s.rules_version from bpm_core.routing_state s), (select count(*) + 1 from bpm.routing_rule), 'nor is there a new version');

-- Deleting
select is((select d.code from bpm.delete_routing_rule('h', 'nobody asks') d), 'h', 'deleted');
select is((select count(*) from bpm.routing_rule r where r.code = 'h'), 0::bigint, 'gone');
select is((select a.reason from bpm_core.audit_event a where a.action = 'DeleteRoutingRule'), 'nobody asks', 'audited');
select throws_ok($$select * from bpm.delete_routing_rule('h')$$, 'BP404', null, 'BP404: gone already');
select throws_ok($$select * from bpm.delete_routing_rule(null)$$, 'BP404', null, 'BP404: null');
select throws_ok($$select * from bpm.set_routing_rule('x', 'x', 'Ignore', p_tenant_id => 'nobody')$$, 'BP403', null, 'BP403: a tenant that is not there');
select is(bpm_core.type_patterns('order.line.added'), '{order.line.added,*,order.*,order.line.*}', 'types fall under their beginnings');
select * from finish();
rollback;

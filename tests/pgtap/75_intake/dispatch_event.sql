-- bpm.dispatch_event: a person or an outside router decides, once; with requeue_dead_letter and discard_dead_letter of events.
begin;
select plan(72);
select bpm.deploy_bpmn(test.linear('order', 'a'));
select test.deploy('parcel', '<intermediateCatchEvent id="m"><messageEventDefinition messageRef="msg"/></intermediateCatchEvent>' || test.service('after') || '<endEvent id="end"/>' || test.flows('start>m', 'm>after', 'after>end'),
                   '<message id="msg" name="paid"/>');
select bpm.deploy_bpmn(test.bpmn('by-message', '<startEvent id="s"><messageEventDefinition messageRef="m"/></startEvent><endEvent id="e"/>' || test.flows('s>e'), '<message id="m" name="go"/>'));
create sequence pg_temp.numbers;
create function pg_temp.accept(p_type text, p_payload jsonb default '{}', p_thread text default null) returns uuid language sql as $$
  select a.event_id from bpm.accept_event('c', nextval('pg_temp.numbers')::text, p_type, p_payload, p_thread_id => p_thread) a $$;
create function pg_temp.standing(p_event uuid) returns text language sql as $$
  select concat_ws(' ', e.dispatch_state, e.reason) from bpm.event e where e.event_id = p_event $$;
create function pg_temp.instances(p_event uuid) returns text language sql as $$
  select string_agg(concat_ws(' ', l.how, i.process_code, i.business_key), ', ' order by l.how, i.process_code) from bpm.event_link l join bpm.instance i using (process_instance_id) where l.event_id = p_event $$;

-- StartProcess
select pg_temp.accept('claim', '{"n": 1}') as e \gset
select d.* from bpm.dispatch_event(:'e', '{"action": "StartProcess", "process_code": "order", "business_key": "C-1"}', 'looks fine', 'ann') d \gset d_
select is(concat_ws(' ', :'d_event_id' = :'e', :'d_dispatch_state', :'d_is_new'), 't Dispatched t', 'decided');
select is(pg_temp.instances(:'e'), 'Started order C-1', 'the process runs');
select is(:'d_process_instance_ids'::uuid[], array(select i.process_instance_id from bpm.instance i), 'and is named in the answer');
select is((select c.business_key from bpm.business_case c where c.business_case_id = :'d_business_case_id'), 'C-1', 'with its case');
select is((select concat_ws(' ', i.started_by, i.variables) from bpm.instance i), 'ann {"n": 1}', 'started by who decided, with the payload');
select is((select concat_ws(' ', d.decided_by, d.reason, coalesce(d.rules::text, 'no rules')) from bpm.routing_decision d), 'ann looks fine no rules', 'the decision is kept');
select is((select concat_ws(' ', a.actor, a.reason, a.aggregate_id = :'e', a.detail) from bpm_core.audit_event a where a.action = 'DispatchEvent'),
  'ann looks fine t {"actions": [{"action": "StartProcess", "business_key": "C-1", "process_code": "order"}], "waited_for": null}', 'and audited');
-- Once
select is((select concat_ws(' ', d.is_new, d.process_instance_ids = :'d_process_instance_ids', d.business_case_id = :'d_business_case_id')
             from bpm.dispatch_event(:'e', '{"actions": [{"process_code": "order", "business_key": "C-1", "action": "StartProcess"}]}', 'again', 'bob') d), 'f t t', 'the same decision again: the first answer');
select is((kit.raised(format($$select * from bpm.dispatch_event(%L, '{"action": "Ignore"}', 'no')$$, :'e')) -> 'detail') - 'event_id',
  '{"decided_by": "ann", "rules": null, "actions": [{"action": "StartProcess", "business_key": "C-1", "process_code": "order"}]}'::jsonb, 'another one is told what was decided');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "StartProcess", "process_code": "order"}')$$, :'e'), 'BP409', null, 'BP409: decided otherwise');
select is(test.tick('events'), 0, 'no rule is asked any more');
select is((select count(*) from bpm.instance), 1::bigint, 'one instance');

-- Several actions; variables of their own; a version
select test.start('parcel', '{}', 'C-2') as waiting \gset
select pg_temp.accept('many') as many \gset
select is((select concat_ws(' ', d.dispatch_state, cardinality(d.process_instance_ids)) from bpm.dispatch_event(:'many', '{"actions": [
  {"action": "StartProcess", "process_code": "order", "version": 1, "variables": {"own": true}},
  {"action": "Correlate", "message_name": "paid", "business_key": "C-2", "variables": {"by": "card"}, "ttl_seconds": 60},
  {"action": "Attach", "business_key": "C-1"}]}') d), 'Dispatched 3', 'an event may touch several instances');
select is(pg_temp.instances(:'many'), 'Attached order C-1, Correlated parcel C-2, Started order', 'each as decided');
select is(test.standing(:'waiting') || bpm.get_variables(:'waiting')::text, '{"after Waiting","{\"by\": \"card\"}"}', 'the message arrived');
select is((select i.variables from bpm.event_link l join bpm.instance i using (process_instance_id) where l.event_id = :'many' and l.how = 'Started'), '{"own": true}'::jsonb, 'with variables of its own');
select is((select c.business_key from bpm.routing_decision d join bpm.business_case c using (business_case_id) where d.event_id = :'many'), 'C-2', 'its case is that of the first key');

-- Texts that look like wire forms stay what they are
select a.event_id as wired from bpm.accept_event('c', 'wired', 'x', jsonb_build_object('list', '__var:1:[1]', 'text', '__var:1:' || to_jsonb('__var:1:[2]'::text)::text)) a \gset
select is((select e.payload from bpm.event e where e.event_id = :'wired'), '{"list": [1], "text": "__var:1:[2]"}'::jsonb, 'a payload is decoded once');
select test.start('parcel', '{}', 'W-1') as wire \gset
select is((select d.dispatch_state from bpm.dispatch_event(:'wired', jsonb_build_object('actions', jsonb_build_array(
  '{"action": "StartProcess", "process_code": "order"}'::jsonb,
  jsonb_build_object('action', 'Correlate', 'message_name', 'paid', 'business_key', 'W-1', 'variables', jsonb_build_object('by', '__var:1:{"a": 1}'))))) d), 'Dispatched', 'decided');
select is((select i.variables from bpm.event_link l join bpm.instance i using (process_instance_id) where l.event_id = :'wired' and l.how = 'Started'),
  '{"list": [1], "text": "__var:1:[2]"}'::jsonb, 'it arrives as it was accepted');
select is(bpm.get_variables(:'wire'), '{"by": {"a": 1}}'::jsonb, 'those of a decision are decoded, too');

-- Attach to instances and tasks
select pg_temp.accept('file') as file \gset
select t.task_id as task from bpm.task t where t.process_instance_id = :'waiting' \gset
select is((select concat_ws(' ', d.dispatch_state, d.process_instance_ids::text, coalesce(d.business_case_id::text, 'no case'))
             from bpm.dispatch_event(:'file', jsonb_build_object('action', 'Attach', 'process_instance_ids', jsonb_build_array(:'waiting'), 'task_ids', jsonb_build_array(:'task'))) d),
  'Dispatched {' || :'waiting' || '} no case', 'attached by id');
select is((select array_agg(l.how || ' ' || (l.task_id = :'task')::text || ' ' || (l.process_instance_id = :'waiting') order by l.task_id) from bpm.event_link l where l.event_id = :'file' and l.task_id is not null), '{Attached true true}', 'to a task, too');

-- Ignore
select pg_temp.accept('spam') as spam \gset
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Ignore"}')$$, :'spam'), 'BP400', null, 'BP400: nothing is ignored without a reason');
select is((select concat_ws(' ', d.dispatch_state, d.process_instance_ids) from bpm.dispatch_event(:'spam', '{"action": "Ignore"}', 'advertising') d), 'Ignored {}', 'ignored');
select is(pg_temp.standing(:'spam'), 'Ignored advertising', 'with the reason');
select is((select d.is_new from bpm.dispatch_event(:'spam', '{"action": "Ignore"}', 'whatever') d), false, 'the same again');

-- What the rules proposed is kept beside what was decided
select bpm.set_routing_rule('ask', 'ask', 'AskHuman') is not null, bpm.set_routing_rule('propose', 'ask', 'StartProcess', p_process_code => 'order') is not null;
select pg_temp.accept('ask') as ask \gset
select bpm.run_until_idle();
select is((select d.dispatch_state from bpm.dispatch_event(:'ask', '{"action": "Ignore"}', 'no') d), 'Ignored', 'a person decides otherwise');
select is((select d.proposal from bpm.routing_decision d where d.event_id = :'ask'), '[{"action": "StartProcess", "process_code": "order"}]'::jsonb, 'the proposal is kept');
select is((select a.detail ->> 'waited_for' from bpm_core.audit_event a where a.action = 'DispatchEvent' and a.aggregate_id = :'ask'), 'AskHuman', 'and what it had waited for');
-- Threads: who decides may jump the queue; who waits behind goes on
select pg_temp.accept('what', '{}', 'T') as t1, pg_temp.accept('what', '{}', 'T') as t2 \gset
select bpm.run_until_idle();
select is(pg_temp.standing(:'t1') || ', ' || pg_temp.standing(:'t2'), 'Pending NoRule, Pending Thread', 'the second waits behind the first');
select is((select d.dispatch_state from bpm.dispatch_event(:'t1', '{"action": "Ignore"}', 'nothing') d), 'Ignored', 'the first is decided');
select is((select e.available_at <= bpm_core.now() from bpm.event e where e.event_id = :'t2'), true, 'the second may be looked at now');
select is(test.tick('events') || pg_temp.standing(:'t2'), '1Pending NoRule', 'and is');

-- Nothing of a decision that cannot be carried out is done
select pg_temp.accept('hard') as hard \gset
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"actions": [{"action": "StartProcess", "process_code": "order"}, {"action": "StartProcess", "process_code": "nothing"}]}')$$, :'hard'), 'BP404', null, 'BP404: no such process');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "StartProcess", "process_code": "order", "version": 7}')$$, :'hard'), 'BP404', null, 'BP404: no such version');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "StartProcess", "process_code": "by-message"}')$$, :'hard'), 'BP409', null, 'BP409: no plain start event');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Attach", "business_key": "nobody"}')$$, :'hard'), 'BP409', null, 'BP409: no instance of this case is open');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Attach", "process_instance_ids": ["00000000-0000-0000-0000-000000000001"]}')$$, :'hard'), 'BP404', null, 'BP404: no such instance');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Attach", "task_ids": ["00000000-0000-0000-0000-000000000001"]}')$$, :'hard'), 'BP404', null, 'BP404: no such task');
select throws_ok($$select * from bpm.dispatch_event('00000000-0000-0000-0000-000000000001', '{"action": "Ignore"}', 'no')$$, 'BP404', null, 'BP404: no such event');
select throws_ok($$select * from bpm.dispatch_event(null, '{"action": "Ignore"}', 'no')$$, 'BP404', null, 'BP404: no event');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "StartProcess", "process_code": "order", "variables": {"a": "__x:1"}}')$$, :'hard'), 'BP422', null, 'BP422: variables refused');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "StartProcess"}')$$, :'hard'), 'BP422', null, 'BP422: no process');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Correlate", "message_name": "m"}')$$, :'hard'), 'BP422', null, 'BP422: no key');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Attach"}')$$, :'hard'), 'BP422', null, 'BP422: nothing to attach to');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Attach", "task_ids": ["00000000-0000-0000-0000-000000000001"], "message_name": "m"}')$$, :'hard'), 'BP422', null, 'BP422: a message without a key');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "AskHuman"}')$$, :'hard'), 'BP422', null, 'BP422: no action of a decision');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "StartProcess", "process_code": "order", "task_ids": ["00000000-0000-0000-0000-000000000001"]}')$$, :'hard'), 'BP422', null, 'BP422: what it has no use for');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Correlate", "message_name": "m", "correlation_key": "k", "version": 1}')$$, :'hard'), 'BP422', null, 'BP422: so of Correlate');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Attach", "business_key": "k", "variables": {}}')$$, :'hard'), 'BP422', null, 'BP422: so of Attach');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Ignore", "business_key": "k"}', 'no')$$, :'hard'), 'BP422', null, 'BP422: so of Ignore');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Ignore"}', repeat('x', 4001))$$, :'hard'), 'BP422', null, 'BP422: a reason too long');
select is((select count(*) filter (where x.code <> 'BP400') from (values ('null'), ('[]'), ('"Ignore"'), ('{"actions": []}'), ('{"actions": [1]}'), ('{"actions": {}}'), ('{"actions": [{"action": "Ignore"}], "x": 1}'),
    ('{"action": "Ignore", "colour": "red"}'), ('{"action": 1}'), ('{"action": "StartProcess", "process_code": ""}'), ('{"action": "StartProcess", "process_code": "order", "version": "1"}'),
    ('{"action": "StartProcess", "process_code": "order", "version": -1}'), ('{"action": "Attach", "task_ids": []}'), ('{"action": "Attach", "task_ids": ["x"]}'), ('{"action": "Attach", "task_ids": [null]}'),
    ('{"action": "Attach", "task_ids": "x"}'), ('{"action": "Correlate", "message_name": "m", "correlation_key": "k", "ttl_seconds": -1}'), ('{"action": "StartProcess", "process_code": "order", "variables": 1}')) v(decision)
  cross join lateral (select kit.raised(format('select * from bpm.dispatch_event(%L, %L, %L)', :'hard', v.decision, 'no')) ->> 'code') x(code)), 0::bigint, 'BP400: what is no decision');
select throws_ok(format($$select * from bpm.dispatch_event(%L, null)$$, :'hard'), 'BP400', null, 'BP400: none');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Ignore"}', 'no', p_tenant_id => 'nobody')$$, :'hard'), 'BP403', null, 'BP403: a tenant that is not there');
select is(pg_temp.standing(:'hard') || (select count(*) from bpm.event_link l where l.event_id = :'hard'), 'Pending0', 'it waits as before, and nothing was started');
-- Another tenant's event is not there
select bpm.create_tenant('other', 'other');
select bpm.grant_access(session_user, 'other', 'admin');
select throws_ok(format($$select * from bpm.dispatch_event(%L, '{"action": "Ignore"}', 'no', p_tenant_id => 'other')$$, :'hard'), 'BP404', format('There is no event %s.', :'hard'), 'BP404: the event of another tenant');

-- Dead letters of events
create function pg_temp.poison() returns uuid language plpgsql as $$
declare v_event uuid := pg_temp.accept('poison', '{"k": "1"}');
begin
  perform bpm.correlate_message('x', 'y', p_message_id => 'event:' || v_event || ':1');
  for i in 1 .. 6 loop perform test.tick('events'); perform bpm.advance_clock('1 hour'); end loop;
  return v_event;
end $$;
select bpm.set_routing_rule('poison', 'poison', 'Correlate', p_message_name => 'paid', p_correlation_path => 'payload.k') is not null;
select pg_temp.poison() as bad1, pg_temp.poison() as bad2, pg_temp.poison() as bad3 \gset
select is(pg_temp.standing(:'bad1'), 'Failed Error', 'an event that cannot be dispatched has failed');
select l.dead_letter_id as l1 from bpm.dead_letter l where l.event_id = :'bad1' \gset
select l.dead_letter_id as l2 from bpm.dead_letter l where l.event_id = :'bad2' \gset
select throws_ok(format('select * from bpm.requeue_dead_letter(%L, 0)', :'l1'), 'BP422', null, 'BP422: no attempts');
select is((select r.outcome::text from bpm.requeue_dead_letter(:'l1', p_actor => 'ann') r), 'Done', 'requeued');
select is(pg_temp.standing(:'bad1') || (select l.state || l.closed_by from bpm.dead_letter l where l.dead_letter_id = :'l1'), 'PendingRequeuedann', 'it is tried again');
select is((select r.outcome::text from bpm.requeue_dead_letter(:'l1') r), 'Done', 'once');
select throws_ok(format('select * from bpm.discard_dead_letter(%L)', :'l1'), 'BP409', null, 'BP409: requeued already');
delete from bpm_core.message where message_id = 'event:' || :'bad1' || ':1';
select is(test.tick('events') || pg_temp.standing(:'bad1'), '1Dispatched', 'after what was wrong is mended it goes on');
select is((select r.outcome::text from bpm.discard_dead_letter(:'l2', 'useless', 'ann') r), 'Done', 'discarded');
select is(pg_temp.standing(:'bad2') || (select ' by ' || d.decided_by from bpm.routing_decision d where d.event_id = :'bad2'), 'Ignored useless by ann', 'which is to ignore the event');
select throws_ok(format('select * from bpm.requeue_dead_letter(%L)', :'l2'), 'BP409', null, 'BP409: discarded already');
select is((select d.dispatch_state || d.is_new from bpm.dispatch_event(:'bad3', '{"action": "StartProcess", "process_code": "order"}') d), 'Dispatchedtrue', 'a failed event can be decided by hand');
select is((select l.state from bpm.dead_letter l where l.event_id = :'bad3'), 'Requeued', 'which closes its letter');
select is((select count(*) from bpm.dead_letter l where l.state = 'Open'), 0::bigint, 'no letter is open');
select is(test.broken(), '{}', 'all is well');
select * from finish();
rollback;

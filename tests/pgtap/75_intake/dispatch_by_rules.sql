-- Dispatching by rules (tick, events): which rules apply, what each action does, what waits and why, order within threads, poison.
begin;
select plan(69);
select bpm.deploy_bpmn(test.linear('order', 'a'));
select bpm.deploy_bpmn(test.linear('alarm', 'b'));
select test.deploy('parcel', '<intermediateCatchEvent id="m"><messageEventDefinition messageRef="msg"/></intermediateCatchEvent>' || test.service('after') || '<endEvent id="end"/>' || test.flows('start>m', 'm>after', 'after>end'),
                   '<message id="msg" name="paid"/>');
select bpm.deploy_bpmn(test.bpmn('by-message', '<startEvent id="s"><messageEventDefinition messageRef="m"/></startEvent><serviceTask id="t" bpm:type="t"/><endEvent id="e"/>' || test.flows('s>t', 't>e'), '<message id="m" name="go"/>'));

-- Accepts an event; its number is its id at the provider. Returns its id.
create sequence pg_temp.numbers;
create function pg_temp.accept(p_type text, p_payload jsonb default '{}', p_thread text default null) returns uuid language sql as $$
  select a.event_id from bpm.accept_event('c', nextval('pg_temp.numbers')::text, p_type, p_payload, p_thread_id => p_thread) a $$;
create function pg_temp.standing(p_event uuid) returns text language sql as $$
  select concat_ws(' ', e.dispatch_state, e.reason) from bpm.event e where e.event_id = p_event $$;
create function pg_temp.instances(p_event uuid) returns text language sql as $$
  select string_agg(concat_ws(' ', l.how, i.process_code, i.business_key), ', ' order by l.how, i.process_code) from bpm.event_link l join bpm.instance i using (process_instance_id) where l.event_id = p_event $$;

-- Nobody has a rule for it
select pg_temp.accept('order.created', '{"order": {"id": "A-1"}, "amount": 50}') as e1 \gset
select is(test.tick('events'), 1, 'looked at');
select is((select concat_ws(' ', e.dispatch_state, e.reason, e.attempts, coalesce(e.available_at::text, 'when somebody decides'), e.decided_at) from bpm.event e where e.event_id = :'e1'),
  'Pending NoRule 0 when somebody decides', 'without a rule it waits, visibly');
select is(test.tick('events'), 0, 'and is not looked at again');
select is((select (c.item ->> 'ok') || (c.item -> 'detail' ->> 'waiting') from jsonb_array_elements(bpm.ready() -> 'checks') c(item) where c.item ->> 'name' = 'waiting_events'), 'false1', 'ready() warns of it');
select is(bpm.metrics() -> 'events', '{"pending": 1, "waiting": 1}', 'metrics count it');

-- A rule is set: StartProcess
select bpm.set_routing_rule('order', 'order.*', 'StartProcess', p_process_code => 'order', p_business_key_path => 'payload.order.id') is not null as set \gset
select is(test.tick('events'), 1, 'newer rules are tried on what waits');
select is(pg_temp.standing(:'e1') || ': ' || pg_temp.instances(:'e1'), 'Dispatched: Started order A-1', 'and start the process, with its business key');
select is((select i.variables from bpm.instance i where i.business_key = 'A-1'), '{"order": {"id": "A-1"}, "amount": 50}'::jsonb, 'the payload becomes its variables');
select is((select h.detail ->> 'event' from bpm.history h where h.kind = 'InstanceStarted'), :'e1', 'history says what started it');
select is((select to_jsonb(d) - '{tenant_id,event_id,business_case_id,decided_at}'::text[] from bpm.routing_decision d),
  '{"actions": [{"action": "StartProcess", "process_code": "order", "business_key": "A-1"}], "proposal": null, "rules": ["order"], "decided_by": "rules", "reason": "rule order", "business_key": "A-1"}'::jsonb, 'the decision is kept');
select is((select concat_ws(' ', c.business_key, c.state, c.lock_version) from bpm.business_case c), 'A-1 Open 0', 'with its business case');
select is(test.complete_next('a') is not null, true, 'the work is there');
select is(test.tick('events'), 0, 'dispatched once');
select pg_temp.accept('orders.created') as e2, pg_temp.accept('order') as e3 \gset
select is(test.tick('events') || pg_temp.standing(:'e2') || pg_temp.standing(:'e3'), '2Pending NoRulePending NoRule', 'order.* is neither orders.created nor order');

-- Which rules: the highest priority at which one applies, all of it, in the order of codes
select bpm.set_routing_rule('a-big', 'bill.paid', 'StartProcess', '${payload.amount > 1000}', null, 'alarm', p_priority => 10) is not null as set \gset
select bpm.set_routing_rule('b-big', 'bill.*', 'StartProcess', '${payload.amount > 1000}', null, 'order', 'payload.bill', p_priority => 10) is not null as set \gset
select bpm.set_routing_rule('c-other-channel', 'bill.*', 'StartProcess', null, 'elsewhere', 'order', p_priority => 99) is not null as set \gset
select bpm.set_routing_rule('d-rest', 'bill.*', 'Ignore', p_reason => 'small bills') is not null as set \gset
select pg_temp.accept('bill.paid', '{"amount": 2000, "bill": "B-1"}') as big, pg_temp.accept('bill.paid', '{"amount": 2, "bill": "B-2"}') as small \gset
select is(test.tick('events') >= 2, true, 'two events');
select is(pg_temp.standing(:'big') || ': ' || pg_temp.instances(:'big'), 'Dispatched: Started alarm, Started order B-1', 'one event may start several processes');
select is((select d.rules::text || d.business_key from bpm.routing_decision d where d.event_id = :'big'), '{a-big,b-big}B-1', 'decided by both rules');
select is((select concat_ws(' ', e.dispatch_state, e.reason) from bpm.event e where e.event_id = :'small'), 'Ignored small bills', 'the next level ignores the others, with its reason');
select is((select d.actions from bpm.routing_decision d where d.event_id = :'small'), '[{"action": "Ignore"}]', 'which is a decision, too');
select is(pg_temp.instances(:'small'), null, 'that touches nothing');

-- What cannot be decided is not false
select pg_temp.accept('bill.paid', '{"amount": "much", "bill": "B-3"}') as odd \gset
select is(test.tick('events') >= 1, true, 'looked at');
select is(pg_temp.standing(:'odd'), 'Pending Undecidable', 'a condition that cannot be decided: it waits');
select is((select e.detail #> '{problems,0}' from bpm.event e where e.event_id = :'odd'),
  '{"rule": "a-big", "what": "condition", "expression": "${payload.amount > 1000}", "seen": [{"path": "payload.amount", "type": "string", "value": "much"}]}'::jsonb, 'with the values seen');
select pg_temp.accept('order.created', '{"order": {"id": [1]}}') as keyless \gset
select is(test.tick('events') || pg_temp.standing(:'keyless'), '1Pending Undecidable', 'so does a business key that is none');
select is((select e.detail #> '{problems,0,seen}' from bpm.event e where e.event_id = :'keyless'), '[{"path": "payload.order.id", "type": "array", "value": [1]}]'::jsonb, 'with what was there instead');
select bpm.set_routing_rule('mapped', 'map', 'StartProcess', p_process_code => 'order', p_variables => '{"id": "${payload.id}", "kind": "web", "double": "=payload.n * 2"}') is not null as set \gset
select pg_temp.accept('map', '{"id": 7, "n": 4}') as map1, pg_temp.accept('map', '{"id": 7, "n": "x"}') as map2 \gset
select bpm.run_until_idle() is not null as done \gset
select is((select i.variables from bpm.event_link l join bpm.instance i using (process_instance_id) where l.event_id = :'map1'), '{"id": 7, "kind": "web", "double": 8}'::jsonb, 'mappings say what becomes variables');
select is(pg_temp.standing(:'map2') || (select e.detail #>> '{problems,0,what}' from bpm.event e where e.event_id = :'map2'), 'Pending Undecidablevariables', 'one that cannot be evaluated waits');

-- A person is asked, or somebody outside
select bpm.set_routing_rule('ask', 'claim', 'AskHuman', p_reason => 'fraud?') is not null as set \gset
select bpm.set_routing_rule('ask-propose', 'claim', 'StartProcess', p_process_code => 'order') is not null as set \gset
select bpm.set_routing_rule('llm', 'letter', 'Outside') is not null as set \gset
select pg_temp.accept('claim') as claim, pg_temp.accept('letter') as letter \gset
select bpm.run_until_idle() is not null as done \gset
select is(pg_temp.standing(:'claim') || ', ' || pg_temp.standing(:'letter'), 'Pending AskHuman, Pending Outside', 'they wait for a person, or a router outside');
select is((select e.detail from bpm.event e where e.event_id = :'claim'),
  '{"rules": ["ask", "ask-propose"], "question": "fraud?", "proposal": [{"action": "StartProcess", "process_code": "order"}]}'::jsonb, 'with the question, and what the other rules propose');

-- Correlate
select bpm.set_routing_rule('pay', 'paid', 'Correlate', p_message_name => 'paid', p_correlation_path => 'payload.parcel', p_variables => '{"by": "${payload.by}"}') is not null as set \gset
select bpm.run_until_idle() is not null as done \gset
select test.start('parcel', '{}', 'P-1') as p1 \gset
select pg_temp.accept('paid', '{"parcel": "P-1", "by": "card"}') as paid1, pg_temp.accept('paid', '{"parcel": "P-2", "by": "cash"}') as paid2 \gset
select is(test.tick('events'), 2, 'two payments');
select is(test.standing(:'p1') || bpm.get_variables(:'p1')::text, '{"after Waiting","{\"by\": \"card\"}"}', 'the one that waits gets its message');
select is(pg_temp.instances(:'paid1'), 'Correlated parcel P-1', 'and is linked');
select is(pg_temp.standing(:'paid2') || ' ' || coalesce(pg_temp.instances(:'paid2'), 'nobody') || ' ' || (select m.state from bpm.message m where m.message_id = 'event:' || :'paid2' || ':1'), 'Dispatched nobody Buffered', 'nobody waits: the message is kept');
select test.start('parcel', '{}', 'P-2') as p2 \gset
select bpm.run_until_idle() is not null as done \gset
select is(bpm.get_variables(:'p2'), '{"by": "cash"}'::jsonb, 'for who comes later');
select bpm.set_routing_rule('go', 'go', 'Correlate', p_message_name => 'go', p_business_key_path => 'payload.key') is not null as set \gset
select bpm.run_until_idle() is not null as done \gset
select pg_temp.accept('go', '{"key": "G-1"}') as go \gset
select is(test.tick('events') || pg_temp.instances(:'go'), '1Started by-message G-1', 'a message may start a process');
select is((select d.business_key from bpm.routing_decision d where d.event_id = :'go'), 'G-1', 'under its business case');

-- Attach
select bpm.set_routing_rule('note', 'note', 'Attach', p_business_key_path => 'payload.of') is not null as set \gset
select bpm.set_routing_rule('note-paid', 'note.paid', 'Attach', p_business_key_path => 'payload.of', p_message_name => 'paid', p_process_code => 'parcel') is not null as set \gset
select bpm.run_until_idle() is not null as done \gset
select test.start('parcel', '{}', 'N-1') as n1, test.start('order', '{}', 'N-1') as n2 \gset
select pg_temp.accept('note', '{"of": "N-1"}') as note, pg_temp.accept('note.paid', '{"of": "N-1"}') as note_paid, pg_temp.accept('note', '{"of": "nobody"}') as lost \gset
select is(test.tick('events'), 3, 'three notes');
select is(pg_temp.instances(:'note'), 'Attached order N-1, Attached parcel N-1', 'attached to every open instance of the case');
select is(pg_temp.instances(:'note_paid') || test.standing(:'n1')::text, 'Attached parcel N-1, Correlated parcel N-1{"after Waiting"}', 'or to those of one process, with a message');
select is((select concat_ws(' ', e.dispatch_state, e.reason, e.detail ->> 'business_key', e.available_at > bpm_core.now()) from bpm.event e where e.event_id = :'lost'), 'Pending NoInstance nobody t', 'nothing to attach to: it is looked at again by itself');
select bpm.advance_clock('2 s') is not null as moved \gset
select is(test.tick('events') || pg_temp.standing(:'lost'), '1Pending NoInstance', 'with growing patience');
select test.start('order', '{}', 'nobody') as n3 \gset
select bpm.advance_clock('1 hour') is not null as moved \gset
select is(test.tick('events') || pg_temp.instances(:'lost'), '1Attached order nobody', 'until there is one');

-- A closed case
select count(test.complete_next('a')) as done from generate_series(1, 9) \gset
select bpm.cancel_process(:'n3') is not null as done \gset
select is((select concat_ws(' ', c.state, c.lock_version) from bpm.close_case('nobody', p_reason => 'over') c), 'Closed 1', 'a case is closed');
select pg_temp.accept('order.created', '{"order": {"id": "nobody"}}') as again \gset
select is(test.tick('events') || pg_temp.instances(:'again'), '1Started order nobody', 'a new event with its key starts under it');
select is((select concat_ws(' ', c.state, c.lock_version) from bpm.business_case c where c.business_key = 'nobody'), 'Open 2', 'and opens it again');
select is((select count(*) from bpm_core.audit_event a where a.action = 'OpenCase'), 1::bigint, 'which is audited');

-- Threads
select pg_temp.accept('unknown', '{}', 'T') as t1, pg_temp.accept('order.created', '{"order": {"id": "T-2"}}', 'T') as t2, pg_temp.accept('order.created', '{"order": {"id": "U-1"}}', 'U') as u1 \gset
select is(test.tick('events'), 3, 'three events in two threads');
select is(concat_ws(', ', pg_temp.standing(:'t1'), pg_temp.standing(:'t2'), pg_temp.standing(:'u1')), 'Pending NoRule, Pending Thread, Dispatched', 'the second waits for the first of its thread');
select is((select e.detail ->> 'behind' from bpm.event e where e.event_id = :'t2'), :'t1', 'and says for which');
select bpm.set_routing_rule('unknown', 'unknown', 'Ignore') is not null as set \gset
select bpm.run_until_idle() is not null as done \gset
select is(pg_temp.standing(:'t1') || ', ' || pg_temp.standing(:'t2'), 'Ignored rule unknown, Dispatched', 'when that is decided, it follows at once');
select is((select array_agg(e.event_id order by e.decided_at) = array[:'t1', :'t2']::uuid[] from bpm.event e where e.thread_id = 'T'), true, 'after it');
-- Another tenant's thread of the same name, and its rules, are its own
select bpm.create_tenant('other', 'other') is not null as made, bpm.grant_access(session_user, 'other', 'admin') is not null as granted \gset
select a.event_id as theirs from bpm.accept_event('c', 'theirs', 'order.created', p_thread_id => 'T', p_tenant_id => 'other') a \gset
select pg_temp.accept('spam', '{}', 'T') as ours \gset
select bpm.set_routing_rule('spam', 'spam', 'Ignore') is not null as set, bpm.run_until_idle() is not null as done, bpm.run_until_idle(p_tenant_id => 'other') is not null as theirs_done \gset
select is(pg_temp.standing(:'ours') || ', ' || pg_temp.standing(:'theirs'), 'Ignored rule spam, Pending NoRule', 'tenants do not hold up each other, nor share rules');
select is((select count(*) from bpm.check_invariants('other')), 0::bigint, 'all is well there');
-- A process of several workflows
select bpm.publish_process('pair', '[{"binding_key": "one", "workflow": "order"}, {"binding_key": "two", "workflow": "alarm"}]') is not null as published \gset
select bpm.set_routing_rule('pair', 'pair', 'StartProcess', p_process_code => 'pair', p_business_key_path => 'payload.k') is not null as set \gset
select pg_temp.accept('pair', '{"k": "P-7"}') as pair \gset
select bpm.run_until_idle() is not null as done \gset
select is(pg_temp.instances(:'pair'), 'Started pair P-7', 'an event may start a process of several workflows');
select is((select count(*) from bpm.history h where h.kind = 'InstanceStarted' and h.detail ->> 'event' = :'pair'), 1::bigint, 'the first of them says by what');
-- By occurrence, not by arrival
select a.event_id as late from bpm.accept_event('c', 'late', 'order.created', '{"order": {"id": "L"}, "n": 2}', p_thread_id => 'L', p_occurred_at => '2026-01-02') a \gset
select a.event_id as early from bpm.accept_event('c', 'early', 'order.created', '{"order": {"id": "L"}, "n": 1}', p_thread_id => 'L', p_occurred_at => '2026-01-01') a \gset
select is(test.tick('events', 1) || pg_temp.standing(:'late') || pg_temp.standing(:'early'), '1Pending ThreadPending', 'what occurred earlier comes first, though it came later');
select bpm.run_until_idle() is not null as done \gset
select is((select array_agg(i.variables -> 'n' order by i.process_instance_id) from bpm.instance i where i.business_key = 'L'), '{1,2}', 'in order');
-- Many of one thread in one tick
select count(pg_temp.accept('order.created', jsonb_build_object('order', '{"id": "M"}'::jsonb, 'n', i), 'M')) as accepted from generate_series(1, 20) i \gset
select is(test.tick('events'), 20, 'a thread of twenty in one tick');
select is((select array_agg((i.variables ->> 'n')::integer order by i.process_instance_id) from bpm.instance i where i.business_key = 'M'), array(select generate_series(1, 20)), 'in their order');

-- A process that is gone: it waits, and says so
select bpm.set_routing_rule('alarm', 'alarm', 'StartProcess', p_process_code => 'alarm') is not null as set \gset
select bpm.run_until_idle() is not null as done \gset
update bpm_core.process_definition set archived_at = bpm_core.now() where code = 'alarm';
select pg_temp.accept('alarm') as alarm \gset
select is(test.tick('events') || pg_temp.standing(:'alarm'), '1Pending Refused', 'a process that cannot be started any more');
select is((select e.detail ->> 'message' from bpm.event e where e.event_id = :'alarm'), 'Process ''alarm'' is archived.', 'why');
update bpm_core.process_definition set archived_at = null where code = 'alarm';
select bpm.advance_clock('1 minute') is not null as moved \gset
select is(test.tick('events') || pg_temp.standing(:'alarm'), '1Dispatched', 'it is tried again by itself');

-- Poison
select bpm.set_routing_rule('poison', 'poison', 'Correlate', p_message_name => 'paid', p_correlation_path => 'payload.k') is not null as set \gset
select bpm.run_until_idle() is not null as done \gset
select pg_temp.accept('poison', '{"k": "P-9"}') as poison, pg_temp.accept('order.created', '{"order": {"id": "beside"}}') as beside \gset
select bpm.correlate_message('x', 'y', p_message_id => 'event:' || :'poison' || ':1') is not null as taken \gset
select is(test.tick('events'), 2, 'two more');
select is(concat_ws(' ', e.dispatch_state, e.reason, e.attempts, e.detail ->> 'error'), 'Pending Error 1 There is a message event:' || :'poison' || ':1 already. (BP409)', 'one whose dispatch raises is put back')
  from bpm.event e where e.event_id = :'poison';
select is(pg_temp.standing(:'beside'), 'Dispatched', 'those beside it go on');
select is(test.tick('events'), 0, 'it is not tried at once');
do $$ begin for i in 1 .. 6 loop perform bpm.advance_clock('1 hour'); perform test.tick('events'); end loop; end $$;
select is((select concat_ws(' ', e.dispatch_state, e.reason, e.attempts) from bpm.event e where e.event_id = :'poison'), 'Failed Error 5', 'after five attempts it has failed');
select is((select concat_ws(' ', l.kind, l.state, l.event_id = :'poison', l.payload, l.process_instance_id) from bpm.dead_letter l), 'Event Open t {"k": "P-9"}', 'with a dead letter');
select is(test.broken(), '{}', 'all is well');
select * from finish();
rollback;

-- Message catch events and receive tasks: what they wait for, and by which key.
begin;
select plan(27);
create function pg_temp.wait(p_process_instance_id uuid) returns text language sql as
$$ select w ->> 'name' || ' ' || (w ->> 'correlation_key') from jsonb_array_elements(bpm.get_process(p_process_instance_id) -> 'waits') w $$;
create function pg_temp.deploy(p_code text, p_event text, p_message text) returns void language sql as
$$ select test.deploy(p_code, p_event || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>end'), p_message) $$;

-- By business key
select pg_temp.deploy('plain', '<intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>', '<message id="m" name="paid"/>') \gset
select test.start('plain', '{}', 'B-1') as a \gset
select is(pg_temp.wait(:'a'), 'paid B-1', 'by the business key where the file says nothing');
select is((select concat_ws(' ', s.kind, s.state, s.node_id, s.visit = t.visit) from bpm_core.subscription s join bpm_core.token t on t.id = s.token_id where s.workflow_instance_id = test.workflow(:'a')), 'Message Open wait t', 'a subscription of this visit');
select is((select h.node_id || ' ' || (h.detail - 'subscription') from bpm.get_history(:'a') h where h.kind = 'MessageAwaited'), 'wait {"name": "paid", "correlation_key": "B-1"}', 'history has it');
select test.start('plain') as b \gset
select is(test.standing(:'b') || test.incidents(:'b'), '{"wait Failed","CorrelationKeyMissing wait"}', 'without a business key: an incident, never a wait for nobody');
select is((select i.detail from bpm.incident i where i.process_instance_id = :'b'), '{"message": "paid", "path": null}'::jsonb, 'that says for what');
select is((select count(*) from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'b')), 0::bigint, 'and no subscription');

-- By an expression
select pg_temp.deploy('keyed', '<intermediateCatchEvent id="wait" bpm:correlationKey="${order.id}"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>', '<message id="m" name="paid"/>') \gset
select test.start('keyed', '{"order": {"id": "O-7"}}', 'B-2') as c \gset
select is(pg_temp.wait(:'c'), 'paid O-7', 'a path into the variables');
select test.start('keyed', '{"order": {"id": 42}}') as d \gset
select is(pg_temp.wait(:'d'), 'paid 42', 'a number is its text');
select test.start('keyed', '{"order": {}}', 'B-3') as e \gset
select is(test.incidents(:'e') || (select array_agg(i.detail::text) from bpm.incident i where i.process_instance_id = :'e'), '{"CorrelationKeyMissing wait","{\"path\": \"order.id\", \"message\": \"paid\"}"}', 'missing: an incident, with the path; the business key does not stand in');
select test.start('keyed', '{"order": {"id": null}}', 'B-3') as f, test.start('keyed', '{"order": {"id": ["O"]}}', 'B-3') as g \gset
select is(test.incidents(:'f') || test.incidents(:'g'), '{"CorrelationKeyMissing wait","CorrelationKeyMissing wait"}', 'so are null and an array');
select array_agg(test.start('keyed', jsonb_build_object('order', jsonb_build_object('id', x.id))))::text as bad from unnest(array['', repeat('k', 301), '__encrypted:k']) x(id) \gset
select is((select array_agg(distinct array_to_string(test.incidents(b), ',')) from unnest(:'bad'::uuid[]) b), '{CorrelationKeyMissing wait}',
  'and texts no sender could name: empty, too long, encrypted');
select bpm.set_variables(:'e', '{"order": {"id": "O-8"}}') is not null as mended \gset
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'e' \gset
select is(pg_temp.wait(:'e'), 'paid O-8', 'mended, it waits');
select is((select m.process_instance_id from bpm.correlate_message('paid', 'O-8') m), :'e'::uuid, 'and is found');
select is(test.status(:'e'), 'Completed', 'once');

-- On the message, and on a receive task
select pg_temp.deploy('received', '<receiveTask id="wait" messageRef="m"/>', '<message id="m" name="answer" bpm:correlationKey="${ref}"/>') \gset
select test.start('received', '{"ref": "R-1"}') as h \gset
select is(pg_temp.wait(:'h'), 'answer R-1', 'a receive task waits like an event');
select is((select m.state from bpm.correlate_message('answer', 'R-1', '{"ok": true}') m), 'Correlated', 'and is answered');
select is(test.status(:'h') || bpm.get_variables(:'h')::text, 'Completed{"ok": true, "ref": "R-1"}', 'its process goes on');

-- Set by the step before, in the same command
select test.deploy('asked', test.service('ask') || '<intermediateCatchEvent id="wait" bpm:correlationKey="${ticket}"><messageEventDefinition messageRef="m"/></intermediateCatchEvent><endEvent id="end"/>'
  || test.flows('start>ask', 'ask>wait', 'wait>end'), '<message id="m" name="answer"/>') \gset
select test.start('asked', '{"ticket": "old"}') as i \gset
select count(m.*) as sent from bpm.correlate_message('answer', 'new', '{"n": 1}') m \gset
select test.complete_next('ask', '{"ticket": "new"}') as done \gset
select is(pg_temp.wait(:'i'), 'answer new', 'the key is what the step before said');
select bpm.run_until_idle() as done \gset
select is(test.status(:'i'), 'Completed', 'a reply that came before the wait is found (C09)');

-- Two waits of one instance for the same message and key
select test.deploy('twin', '<parallelGateway id="fork"/><intermediateCatchEvent id="one"><messageEventDefinition messageRef="m"/></intermediateCatchEvent><intermediateCatchEvent id="two"><messageEventDefinition messageRef="m"/></intermediateCatchEvent><parallelGateway id="join"/><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>one', 'fork>two', 'one>join', 'two>join', 'join>end'), '<message id="m" name="part"/>') \gset
select count(m.*) as sent from bpm.correlate_message('part', 'T-1', '{"first": true}') m \gset
select test.start('twin', '{}', 'T-1') as j \gset
select bpm.run_until_idle() as done \gset
select is((select count(*) from jsonb_array_elements(bpm.get_process(:'j') -> 'waits')) || ' ' || cardinality(test.standing(:'j')), '1 2', 'a message goes to one of them');
select is((select m.state from bpm.correlate_message('part', 'T-1', '{"second": true}') m), 'Correlated', 'the next to the other');
select is(test.status(:'j') || bpm.get_variables(:'j')::text, 'Completed{"first": true, "second": true}', 'and it ends');

-- Through a loop: a new wait for every visit
select test.deploy('listen', '<exclusiveGateway id="enter"/><intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m"/></intermediateCatchEvent><exclusiveGateway id="again" default="again_end"/><endEvent id="end"/>'
  || test.flows('start>enter', 'enter>wait', 'wait>again', 'again>end') || test.when('again>enter', '${more == true}'), '<message id="m" name="tick"/>') \gset
select test.start('listen', '{}', 'L-1') as k \gset
select m.process_instance_id as to_k from bpm.correlate_message('tick', 'L-1', '{"more": true}') m \gset
select is(test.standing(:'k') || (select array_agg(s.state::text order by s.created_at) from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'k')), '{"wait Waiting",Consumed,Open}', 'it waits again');
select m.process_instance_id as to_k from bpm.correlate_message('tick', 'L-1', '{"more": false}') m \gset
select is(test.status(:'k'), 'Completed', 'until it is told to end');

-- Closed with its instance
select test.start('listen', '{}', 'L-2') as l \gset
select bpm.cancel_process(:'l') is not null as cancelled \gset
select is((select array_agg(s.state::text) from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'l')) || test.history(:'l', 'Subscription%'), '{Closed,"SubscriptionClosed 1"}', 'a wait is closed with its instance');
select is((select m.state from bpm.correlate_message('tick', 'L-2') m), 'Buffered', 'and gets nothing any more');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

-- bpm.correlate_message: at most one receiver; kept until somebody waits or its time is over (A-19).
begin;
select plan(55);
select test.deploy('parcel', '<intermediateCatchEvent id="picked"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>' || test.service('after') || '<endEvent id="end"/>'
  || test.flows('start>picked', 'picked>after', 'after>end'), '<message id="m" name="picked-up"/>') \gset

-- To one that waits
select test.start('parcel', '{"a": 1}', 'K-1') as a \gset
select is(test.standing(:'a') || test.history(:'a', 'Message%'), '{"picked Waiting","MessageAwaited 1"}', 'an instance waits, by its business key');
select is((bpm.get_process(:'a') #> '{waits,0}') - '{subscription_id,token_id,since}'::text[], '{"kind": "Message", "name": "picked-up", "node_id": "picked", "correlation_key": "K-1"}'::jsonb, 'for a name and a key');
select w.lock_version as before from bpm_core.workflow_instance w where w.id = test.workflow(:'a') \gset
select m.* from bpm.correlate_message('picked-up', 'K-1', '{"by": "bike", "list": "__var:1:[1]"}', p_message_id => 'm-1') m \gset m_
select is(:'m_state' || :'m_process_instance_id' || :'m_is_new', 'Correlated' || :'a' || 't', 'correlated, and with whom');
select is(test.standing(:'a'), '{"after Waiting"}', 'the token goes on at once');
select is(bpm.get_variables(:'a'), '{"a": 1, "by": "bike", "list": [1]}'::jsonb, 'its payload is patched, decoded');
select is((select h.node_id || ' ' || (h.detail - 'message') from bpm.get_history(:'a') h where h.kind = 'MessageReceived'), 'picked {"name": "picked-up", "variables": {"by": "bike", "list": [1]}}', 'history has it');
select is((select w.lock_version - :before from bpm_core.workflow_instance w where w.id = test.workflow(:'a')), 1, 'the instance is written once');
select is((select concat_ws(' ', m.message_id, m.state, m.node_id, m.process_instance_id = :'a') from bpm.message m where m.id = :'m_message_id'), 'm-1 Correlated picked t', 'its row tells who got it');
select is((select count(*) from bpm_core.inbox), 0::bigint, 'nothing is left in the inbox');

-- Repeats
select is((select concat_ws(' ', m.message_id, m.state, m.process_instance_id, m.is_new) from bpm.correlate_message('picked-up', 'K-1', '{"list": [1], "by": "bike"}', interval '5 minutes', 'm-1') m),
          concat_ws(' ', :'m_message_id', 'Correlated', :'a', 'f'), 'the same message id again: the first answer, whatever the time to live');
select throws_ok($$select * from bpm.correlate_message('picked-up', 'K-1', '{"by": "car"}', p_message_id => 'm-1')$$, 'BP409', null, 'another payload is a conflict');
select throws_ok($$select * from bpm.correlate_message('picked-up', 'K-2', '{"by": "bike", "list": [1]}', p_message_id => 'm-1')$$, 'BP409', null, 'so is another key');
select throws_ok($$select * from bpm.correlate_message('delivered', 'K-1', '{"by": "bike", "list": [1]}', p_message_id => 'm-1')$$, 'BP409', null, 'and another name');
select is((select count(*) from bpm.message), 1::bigint, 'one message');

-- Before the wait (A-19, C09)
select m.* from bpm.correlate_message('picked-up', 'K-3', '{"early": true}') m \gset e_
select is((select m.state || coalesce(m.process_instance_id::text, ' nobody') from bpm.message m where m.id = :'e_message_id'), 'Buffered nobody', 'nobody waits: kept');
select is((select m.expires_at - m.received_at from bpm.message m where m.id = :'e_message_id'), interval '1 hour', 'for an hour');
select test.start('parcel', '{}', 'K-3') as c \gset
select is((select m.state || ' ' || (m.process_instance_id = :'c') from bpm.message m where m.id = :'e_message_id'), 'Correlated true', 'the wait takes it when it opens');
select is(test.tick('inbox'), 1, 'and gets it with the next tick');
select is(test.standing(:'c') || bpm.get_variables(:'c')::text, '{"after Waiting","{\"early\": true}"}', 'once');
select is(test.tick('inbox'), 0, 'not twice');

-- Exact name and key
select test.start('parcel', '{}', 'K-4') as d \gset
select is((select array_agg(m.state) from (values ('picked-up', 'k-4'), ('Picked-up', 'K-4'), ('picked-up', 'K-4 ')) v(name, key) cross join lateral bpm.correlate_message(v.name, v.key) m), '{Buffered,Buffered,Buffered}', 'name and key are taken exactly');
select is(test.standing(:'d'), '{"picked Waiting"}', 'it waits on');

-- Time to live (C10)
select is((select m.state from bpm.correlate_message('picked-up', 'K-5', '{}', interval '0') m), 'Expired', 'no time to live and nobody waiting: expired');
select is((select m.state from bpm.correlate_message('picked-up', 'K-4', '{}', interval '0') m), 'Correlated', 'somebody waiting: correlated');
select is(test.standing(:'d'), '{"after Waiting"}', 'and gone on');
select m.message_id as short from bpm.correlate_message('picked-up', 'K-6', '{"n": 1}', interval '10 seconds') m \gset
select bpm.advance_clock(interval '11 seconds') is not null as moved \gset
select test.start('parcel', '{}', 'K-6') as f \gset
select is((select m.state from bpm.message m where m.id = :'short'), 'Buffered', 'its time is over, though nobody has swept it yet');
select k.done as swept from bpm.tick() k \gset
select is(:'swept'::jsonb @> '{"inbox": 0}' and test.standing(:'f') = '{"picked Waiting"}', true, 'it is not correlated any more');
select is((:'swept'::jsonb ->> 'messages') || (select m.state from bpm.message m where m.id = :'short'), '1Expired', 'the sweep says so');
select is(test.tick('messages'), 0, 'once');
select is((select m.state || m.is_new from bpm.correlate_message('picked-up', 'K-6', '{"n": 2}') m), 'Correlatedtrue', 'a fresh one is');
select is(bpm.get_variables(:'f'), '{"n": 2}'::jsonb, 'with its own payload');

-- Two messages for one wait: the second is kept
select m.message_id as one from bpm.correlate_message('picked-up', 'K-7', '{"n": 1}') m \gset
select test.start('parcel', '{}', 'K-7') as g \gset
select m.message_id as two, m.state as two_state from bpm.correlate_message('picked-up', 'K-7', '{"n": 2}') m \gset
select is(:'two_state'::text, 'Buffered', 'a wait that has its message, though not yet in hand, takes no second one');
select bpm.run_until_idle() as done \gset
select is(bpm.get_variables(:'g') || jsonb_build_object('second', (select m.state from bpm.message m where m.id = :'two')), '{"n": 1, "second": "Buffered"}'::jsonb, 'the first one counts, the second is kept');
select test.start('parcel', '{}', 'K-7') as h \gset
select bpm.run_until_idle() as done \gset
select is(bpm.get_variables(:'h'), '{"n": 2}'::jsonb, 'for the next wait');

-- Two waits, one message: the older gets it; then the other
select test.start('parcel', '{"w": 1}', 'K-8') as w1, test.start('parcel', '{"w": 2}', 'K-8') as w2 \gset
select is((select m.process_instance_id from bpm.correlate_message('picked-up', 'K-8', '{}') m), :'w1'::uuid, 'the oldest wait gets it');
select is((select m.process_instance_id from bpm.correlate_message('picked-up', 'K-8', '{}') m), :'w2'::uuid, 'the next one the next');
select is((select m.state from bpm.correlate_message('picked-up', 'K-8', '{}') m), 'Buffered', 'a third nobody');

-- Several buffered: in order of arrival
select m.message_id as b1 from bpm.correlate_message('picked-up', 'K-9', '{"n": 1}') m \gset
select m.message_id as b2 from bpm.correlate_message('picked-up', 'K-9', '{"n": 2}') m \gset
select count(s.*) as started from bpm.start_processes('[{"code": "parcel", "business_key": "K-9"}, {"code": "parcel", "business_key": "K-9"}, {"code": "parcel", "business_key": "K-9"}]') s \gset
select bpm.run_until_idle() as done \gset
select is((select array_agg(i.variables -> 'n' order by i.variables -> 'n') from bpm.instance i where i.business_key = 'K-9'), '{1,2,NULL}', 'one each to waits that open together');

-- The oldest message first, from the buffer
select m.message_id as o1 from bpm.correlate_message('picked-up', 'K-10', '{"n": 1}') m \gset
select m.message_id as o2 from bpm.correlate_message('picked-up', 'K-10', '{"n": 2}') m \gset
select test.start('parcel', '{}', 'K-10') as o \gset
select bpm.run_until_idle() as done \gset
select is(bpm.get_variables(:'o'), '{"n": 1}'::jsonb, 'the oldest message first');

-- Refused
select throws_ok($$select * from bpm.correlate_message(null, 'K')$$, 'BP400', null, 'no name');
select throws_ok($$select * from bpm.correlate_message('', 'K')$$, 'BP400', null, 'an empty name');
select throws_ok($$select * from bpm.correlate_message(repeat('n', 301), 'K')$$, 'BP400', null, 'an over-long name');
select throws_ok($$select * from bpm.correlate_message('n', null)$$, 'BP400', null, 'no key');
select throws_ok($$select * from bpm.correlate_message('n', repeat('k', 301))$$, 'BP400', null, 'an over-long key');
select throws_ok($$select * from bpm.correlate_message('n', 'k', p_message_id => '')$$, 'BP400', null, 'an empty message id');
select throws_ok($$select * from bpm.correlate_message('n', 'k', '{}', interval '-1 second')$$, 'BP400', null, 'a time to live below nothing');
select throws_ok($$select * from bpm.correlate_message('n', 'k', '{}', interval '366 days')$$, 'BP400', null, 'one over a year');
select throws_ok($$select * from bpm.correlate_message('n', 'k', '{}', null)$$, 'BP400', null, 'none');
select throws_ok($$select * from bpm.correlate_message('n', 'k', '[]')$$, 'BP422', null, 'a payload that is no object');
select throws_ok($$select * from bpm.correlate_message('n', 'k', '{"x": "__odd:1"}')$$, 'BP422', null, 'a value that forges a reserved prefix');
select throws_ok($$select * from bpm.correlate_message('n', 'k', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is((select count(*) from bpm.message m where m.name = 'n'), 0::bigint, 'nothing is kept of them');

-- Tenants
select bpm.create_tenant('Other', 'other') is not null as made \gset
select test.start('parcel', '{}', 'K-11') as t \gset
select is((select m.state from bpm.correlate_message('picked-up', 'K-11', '{}', p_tenant_id => 'other') m) || test.standing(:'t')::text, 'Buffered{"picked Waiting"}', 'another tenant''s message reaches nobody here');
select is((select m.is_new from bpm.correlate_message('picked-up', 'K-1', '{}', p_message_id => 'm-1', p_tenant_id => 'other') m), true, 'message ids are the tenant''s own');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

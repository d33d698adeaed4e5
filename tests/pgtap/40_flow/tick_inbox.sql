-- The inbox: what reaches an instance from outside, applied under its own lock; a wait that closes never swallows a message.
begin;
select plan(32);
select test.deploy('parcel', '<intermediateCatchEvent id="picked"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>' || test.service('after') || '<endEvent id="end"/>'
  || test.flows('start>picked', 'picked>after', 'after>end'), '<message id="m" name="picked-up"/>') \gset

-- The wait closed before its message was applied: it is kept for the next
select m.message_id as m1 from bpm.correlate_message('picked-up', 'K-1', '{"n": 1}') m \gset
select test.start('parcel', '{}', 'K-1') as a \gset
select is((select i.target_kind || ' ' || i.kind || ' ' || i.attempts from bpm_core.inbox i), 'WorkflowInstance Message 0', 'a buffered message goes to its wait through the inbox');
select bpm.cancel_process(:'a') is not null as cancelled \gset
select is((select m.state from bpm.message m where m.id = :'m1'), 'Correlated', 'its instance is cancelled meanwhile');
select is(test.tick('inbox'), 1, 'tick finds the wait closed');
select is((select m.state || coalesce(m.process_instance_id::text, ' nobody') from bpm.message m where m.id = :'m1') || (select count(*) from bpm_core.inbox), 'Buffered nobody0', 'and gives the message back');
select is(test.status(:'a'), 'Cancelled', 'the cancelled instance is not touched');
select test.start('parcel', '{}', 'K-1') as b \gset
select bpm.run_until_idle() as done \gset
select is(bpm.get_variables(:'b'), '{"n": 1}'::jsonb, 'the next wait gets it');

-- Another one waits already
select m.message_id as m2 from bpm.correlate_message('picked-up', 'K-2', '{"n": 2}') m \gset
select test.start('parcel', '{}', 'K-2') as c, test.start('parcel', '{}', 'K-2') as d \gset
select bpm.cancel_process(m.process_instance_id) is not null as cancelled from bpm.message m where m.id = :'m2' \gset
select is(test.tick('inbox'), 1, 'the wait that had it closed');
select is(bpm.get_variables(:'d') || jsonb_build_object('cancelled', test.status(:'c')), '{"n": 2, "cancelled": "Cancelled"}'::jsonb, 'the other one gets it at once');

-- Its time is over when it comes back
select m.message_id as m3 from bpm.correlate_message('picked-up', 'K-3', '{"n": 3}', interval '1 minute') m \gset
select test.start('parcel', '{}', 'K-3') as e, test.start('parcel', '{}', 'K-3') as f \gset
select bpm.cancel_process(m.process_instance_id) is not null as cancelled from bpm.message m where m.id = :'m3' \gset
select bpm.advance_clock(interval '2 minutes') is not null as moved \gset
select is(test.tick('inbox'), 1, 'the wait that had it closed, and so did its time');
select is((select m.state from bpm.message m where m.id = :'m3') || test.standing(:'f')::text, 'Expired{"picked Waiting"}', 'it is expired, though another one waits');

-- Of one instance one row at a time, in order of arrival
select test.deploy('double', '<parallelGateway id="fork"/><intermediateCatchEvent id="one"><messageEventDefinition messageRef="m1"/></intermediateCatchEvent><intermediateCatchEvent id="two"><messageEventDefinition messageRef="m2"/></intermediateCatchEvent><parallelGateway id="join"/><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>one', 'fork>two', 'one>join', 'two>join', 'join>end'), '<message id="m1" name="m-one"/><message id="m2" name="m-two"/>') \gset
select m.message_id as x1 from bpm.correlate_message('m-two', 'K-4', '{"last": "two", "two": true}') m \gset
select m.message_id as x2 from bpm.correlate_message('m-one', 'K-4', '{"last": "one", "one": true}') m \gset
select test.start('double', '{}', 'K-4') as g \gset
select (select count(*) from bpm_core.inbox) as waiting \gset
select is(:waiting, 2, 'two messages for one instance (C12)');
select is(bpm.run_until_idle(), 2, 'both are applied');
select is(test.status(:'g') || (bpm.get_variables(:'g') - 'last')::text, 'Completed{"one": true, "two": true}', 'and it ends, with both payloads');
select is((select array_agg(x order by x) from unnest(test.history(:'g', 'Message%')) x), '{"MessageAwaited 2","MessageReceived 2"}', 'both are in history');
select m.message_id as y1 from bpm.correlate_message('m-two', 'K-5') m \gset
select m.message_id as y2 from bpm.correlate_message('m-one', 'K-5') m \gset
select test.start('double', '{}', 'K-5') as h \gset
select (k.done ->> 'inbox')::integer as first, k.positions from bpm.tick() k \gset
select (k.done ->> 'inbox')::integer as second, k.positions from bpm.tick(p_positions => :'positions') k \gset
select (k.done ->> 'inbox')::integer as third from bpm.tick(p_positions => :'positions') k \gset
select is(array[:first, :second, :third], '{1,1,0}', 'with positions handed on, none is passed over');

-- Many at once, a batch at a time
select count(m.*) as sent from generate_series(1, 25) n cross join lateral bpm.correlate_message('picked-up', 'M-' || n, jsonb_build_object('n', n)) m \gset
select count(s.*) as started from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'parcel', 'business_key', 'M-' || n)) from generate_series(1, 25) n)) s \gset
select is(array[test.tick('inbox', 10), test.tick('inbox', 10), test.tick('inbox', 10), test.tick('inbox', 10)], '{10,10,5,0}', 'a batch at a time');
select is((select count(*) from bpm.instance i where i.business_key = 'M-' || (i.variables ->> 'n')), 25::bigint, 'each its own message, once');

-- What cannot be applied is put back with a growing delay, and in the end buried
create function pg_temp.refuse() returns trigger language plpgsql as $$ begin if new.name = 'picked-up' and new.state = 'Consumed' and new.correlation_key = 'P-1' then raise 'the disk of this instance is full'; end if; return new; end $$;
create trigger refuse before update on bpm_core.subscription for each row execute function pg_temp.refuse();
select m.message_id as p from bpm.correlate_message('picked-up', 'P-1', '{"n": 1}', interval '1 day') m \gset
select count(m.*) as sent from bpm.correlate_message('picked-up', 'P-2', '{"n": 2}') m \gset
select test.start('parcel', '{}', 'P-1') as i, test.start('parcel', '{}', 'P-2') as j \gset
select is(test.tick('inbox'), 2, 'two are tried together');
select is(bpm.get_variables(:'i') || bpm.get_variables(:'j'), '{"n": 2}'::jsonb, 'the one that cannot be applied does not stop the other');
select is((select x.attempts || ' ' || x.last_error from bpm_core.inbox x), '1 the disk of this instance is full (P0001)', 'it is put back, with the reason');
select is(test.tick('inbox'), 0, 'not before its time');
select is((select round(extract(epoch from x.available_at - bpm_core.now()))::integer from bpm_core.inbox x), 1, 'a second');
select bpm.advance_clock(interval '2 seconds') is not null as moved \gset
select is(test.tick('inbox'), 1, 'tried again');
select is((select round(extract(epoch from x.available_at - bpm_core.now()))::integer from bpm_core.inbox x), 2, 'then two seconds, and so on');
create function pg_temp.tries(p_times integer) returns integer language plpgsql as $$ begin for n in 1 .. p_times loop perform bpm.advance_clock(interval '10 minutes'); perform test.tick(); end loop; return p_times; end $$;
select pg_temp.tries(7) as tries \gset
select is((select x.attempts from bpm_core.inbox x), 9, 'nine times');
select bpm.advance_clock(interval '10 minutes') is not null as moved \gset
select test.tick('inbox') as tenth \gset
select is(:tenth || (select count(*) from bpm_core.inbox)::text, '10', 'the tenth time it is taken out');
select is(test.incidents(:'i') || test.standing(:'i'), '{InboxPoisoned,"picked Waiting"}', 'an incident, which stops no token');
select is((select concat_ws(' ', d.kind, d.state, d.error) from bpm.dead_letter d where d.process_instance_id = :'i'), 'Inbox Open "the disk of this instance is full (P0001)"', 'and a dead letter');
select bpm.resolve_incident(x.incident_id) is not null as resolved from bpm.incident x where x.process_instance_id = :'i' \gset
select is((select d.state from bpm.dead_letter d where d.process_instance_id = :'i') || (select x.attempts from bpm_core.inbox x), 'Requeued0', 'resolved, it gets another ten tries');
drop trigger refuse on bpm_core.subscription;
select is(test.tick('inbox'), 1, 'mended, it is applied');
select is(test.standing(:'i') || bpm.get_variables(:'i')::text, '{"after Waiting","{\"n\": 1}"}', 'and the token goes on');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;

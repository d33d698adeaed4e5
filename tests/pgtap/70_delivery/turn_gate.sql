-- Circuit breakers: opened by failures in a row, tried after a while with one command, closed by an answer; or held by a person.
begin;
select plan(42);
select kit.deploy_sending('brk', '{"breaker_threshold": 3, "max_attempts": 50, "backoff": "1 second", "backoff_cap": "1 second"}');
select array_agg(kit.start('brk', jsonb_build_object('n', n)) order by n) as wi from generate_series(1, 8) n \gset
create function pg_temp.gate() returns text language sql as $$ select d.state || ' ' || d.failures from bpm.destination d where d.code = 'brk' $$;
create function pg_temp.claimed(p_limit integer default 100) returns bigint language sql as $$ select count(*) from bpm.claim_commands('w', p_limit) $$;
create function pg_temp.due() returns interval language sql as $$ select date_trunc('second', bpm_core.commands_due('', bpm_core.now()) - bpm_core.now() + '0.5 seconds') $$;

select is(pg_temp.gate(), 'Closed 0', 'closed at first');
select is(pg_temp.claimed(3), 3::bigint, 'three leave');
select is_empty('select from bpm_core.destination_gate', 'without a trace');
select is(kit.mark((:'wi'::uuid[])[1], 'Sent'), 'Sent Sent', 'an answer');
select is_empty('select from bpm_core.destination_gate', 'writes nothing either');
select kit.mark((:'wi'::uuid[])[2], 'NotSent', '{"detail": {"local": true}}') as _ \gset
select is(pg_temp.gate(), 'Closed 0', 'what was wrong with the command is not counted');
select kit.mark((:'wi'::uuid[])[3], 'NotSent') as _ \gset
select is(pg_temp.gate(), 'Closed 1', 'a failure is');
select pg_temp.claimed(1);
select kit.mark((:'wi'::uuid[])[4], 'Refused') as _ \gset
select is(pg_temp.gate(), 'Closed 0', 'an answer, even a refusal, begins anew');
select pg_temp.claimed(3);
select kit.mark((:'wi'::uuid[])[5], 'ReceiverError', '{"detail": {"status": 500}}') as _ \gset
select kit.mark((:'wi'::uuid[])[6], 'Unknown') as _ \gset
select is(pg_temp.gate(), 'Closed 2', 'errors of the receiver and silence count');
select kit.mark((:'wi'::uuid[])[7], 'NotSent', '{"detail": {"error": "ConnectError"}}') as _ \gset
select is(pg_temp.gate(), 'Open 3', 'three in a row open it');
select is((select d.last_error ->> 'error' from bpm.destination d where d.code = 'brk'), 'ConnectError', 'with the last error');
select is((select date_trunc('second', d.probe_at - d.opened_at) from bpm.destination d where d.code = 'brk'), '10 seconds', 'and a time to try again');
select is(pg_temp.claimed(), 0::bigint, 'nothing leaves');
select is(pg_temp.due(), '10 seconds', 'nor is anything due before');
select is(bpm.metrics() -> 'destinations', '{"open": 1, "half_open": 0}', 'metrics tell');
select is((select c - 'detail' from jsonb_array_elements(bpm.ready() -> 'checks') c where c ->> 'name' = 'destinations'),
          '{"name": "destinations", "ok": false, "required": false}', 'ready warns');
select from bpm.advance_clock('11 seconds');
select is(pg_temp.claimed(), 1::bigint, 'then one is tried');
select is(pg_temp.gate(), 'HalfOpen 3', 'half open');
select is(pg_temp.claimed(), 0::bigint, 'the others wait for it');
select (select x from bpm_core.outbox x where x.state = 'Sending') as _, (select x.workflow_instance_id from bpm_core.outbox x where x.state = 'Sending') as probe \gset
select kit.mark(:'probe', 'NotSent') as _ \gset
select is(pg_temp.gate(), 'Open 4', 'it failed: open again');
select is((select date_trunc('second', d.probe_at - bpm_core.now() + '0.5 seconds') from bpm.destination d where d.code = 'brk'), '20 seconds', 'for twice as long');
select from bpm.advance_clock('21 seconds');
select is(pg_temp.claimed(), 1::bigint, 'tried again');
select from bpm.advance_clock('59 seconds');
select is(pg_temp.claimed(), 0::bigint, 'nobody reports');
select from bpm.advance_clock('2 seconds');
select is(pg_temp.claimed(), 1::bigint, 'when its lease is over, another is tried');
select (select x.workflow_instance_id from bpm_core.outbox x where x.state = 'Sending' and x.lease_until > bpm_core.now()) as probe \gset
select kit.mark(:'probe', 'Sent') as _ \gset
select is(pg_temp.gate(), 'Closed 0', 'an answer closes it');
select is(pg_temp.claimed() > 0, true, 'and all may leave');
select is(bpm.metrics() -> 'destinations', '{"open": 0, "half_open": 0}', 'as metrics tell');

-- By hand
select is((select t.state from bpm.turn_destination('brk', 'Open', 'they move house', 'ann') t), 'Open', 'a person opens it');
select is((select d.state || ' ' || d.held_by || ' ' || d.reason from bpm.destination d where d.code = 'brk'), 'Open ann they move house', 'and can be seen to');
select from kit.start('brk', '{"n": 20}') as late;
select from bpm.advance_clock('1 hour');
select is(pg_temp.claimed(), 0::bigint, 'nothing leaves, however long');
select is(bpm_core.commands_due('', bpm_core.now()), null, 'and nothing is due');
select (select x.workflow_instance_id from bpm_core.outbox x where x.state = 'Sending' limit 1) as old \gset
select kit.mark(:'old', 'Sent') as _ \gset
select is(pg_temp.gate(), 'Open 0', 'an answer does not close what a person holds');
select is((select t.state from bpm.turn_destination('brk', 'Open', 'again', 'bob') t), 'Open', 'the same again');
select is((select count(*) from bpm_core.audit_event a where a.action = 'TurnDestination'), 1::bigint, 'changes nothing');
select is((select t.state from bpm.turn_destination('brk', 'Closed', 'moved', 'ann') t), 'Closed', 'a person closes it');
select is(pg_temp.claimed() > 0, true, 'and it is sent to');
select is((select string_agg(a.reason, ', ' order by a.at) from bpm_core.audit_event a where a.action = 'TurnDestination'), 'they move house, moved', 'both are audited');
select throws_ok('select from bpm.turn_destination(''x'', ''Open'', ''y'')', 'BP404', null, 'no such destination');
select throws_ok('select from bpm.turn_destination(''brk'', ''Ajar'', ''y'')', 'BP422', null, 'no such state');
select throws_ok('select from bpm.turn_destination(''brk'', ''Open'', '' '')', 'BP422', null, 'no reason');
select throws_ok('select from bpm.turn_destination(''brk'', ''Open'', ''y'', p_tenant_id => ''nobody'')', 'BP403', null, 'tenant not granted');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;

-- Probes: the receiver is asked whether an Unknown command arrived.
begin;
select plan(47);
select kit.deploy_sending('p', '{"probe_url": "http://receiver.test/of/{command_id}", "max_attempts": 3}');
select kit.deploy_sending('proof', '{"probe_url": "http://receiver.test/of/{command_id}", "absent_means": "Pending", "max_attempts": 2}');
select kit.deploy_sending('keyed', '{"probe_url": "http://receiver.test/of/{command_id}", "resend_allowed": true, "key_retention": "5 minutes"}');
select kit.deploy_sending('receipt', '{"probe_url": "http://receiver.test/of/{command_id}", "receipt_path": "body.number"}');
create function pg_temp.unknown(p_code text) returns uuid language plpgsql as $$
declare
  v_instance uuid := kit.sending(p_code);
begin
  perform kit.mark(v_instance, 'Unknown', '{"detail": {"error": "ReadTimeout"}}');
  perform bpm.advance_clock('12 seconds');
  return v_instance;
end $$;
create function pg_temp.answer(p_instance uuid, p_outcome text, p_more jsonb default '{}', p_fence bigint default null) returns text language sql as $$
  select m.outcome || ' ' || coalesce(m.state, 'null')
    from bpm.mark_probes((select jsonb_build_array(jsonb_build_object('command_id', (c).command_id, 'fencing_token', coalesce(p_fence, (c).fencing_token),
                                                                      'outcome', p_outcome) || p_more) from kit.command(p_instance) c)) m $$;
create function pg_temp.state(p_instance uuid) returns text language sql as $$ select (c).state::text from kit.command(p_instance) c $$;

-- Asked, again and again, until a person
select kit.sending('p') as wi \gset
select kit.mark(:'wi', 'Unknown', '{"detail": {"error": "ReadTimeout"}}') as _ \gset
select is((select concat_ws(', ', u.reason, u.next_step, u.state) from bpm.unknown_command u), 'ReadTimeout, the receiver is asked, Unknown', 'listed with its reason and what comes next');
select is((select count(*) from bpm.claim_probes('w', 10)), 0::bigint, 'not at once');
select from bpm.advance_clock('12 seconds');
select is((select count(*) from bpm.claim_probes('w', 10, p_kinds => '{smtp}')), 0::bigint, 'only of kinds that are asked for');
select c.* from bpm.claim_probes('w', 10) c \gset a_
select is(:'a_destination'::jsonb ->> 'probe_url', 'http://receiver.test/of/{command_id}', 'then, with the address');
select is(pg_temp.state(:'wi') || ' ' || :a_probe || ' ' || :a_fencing_token, 'Reconciling 1 2', 'under a new fence');
select is((select count(*) from bpm.claim_probes('w2', 10)), 0::bigint, 'by one');
select is((select u.next_step from bpm.unknown_command u), 'the receiver is being asked', 'as is listed');
select is((select count(*) from bpm.claim_commands('w2', 10)), 0::bigint, 'and it is not sent');
select is(pg_temp.answer(:'wi', 'Found', p_fence => 1), 'LeaseLost Reconciling', 'an old fence counts for nothing');
select is(pg_temp.answer(:'wi', 'Unclear', '{"detail": {"status": 500}}'), 'Unknown Unknown', 'an unclear answer');
select is(pg_temp.answer(:'wi', 'Unclear', '{"detail": {"status": 500}}'), 'Unknown Unknown', 'its repeat');
select is((select h.kind || ' ' || h.from_state || ' ' || h.to_state || ' ' || h.actor || ' ' || (h.detail #>> '{detail,seen}') from bpm_core.history_event h
            where h.workflow_instance_id = :'wi' order by h.seq desc limit 1), 'CommandReconciled Reconciling Unknown w Unclear', 'in history once');
select is((select (c).probe_at - bpm_core.now() > '19 seconds' from kit.command(:'wi') c), true, 'asked again later, after twice as long');
select from bpm.advance_clock('25 seconds');
select is((select count(*) from bpm.claim_probes('w', 10)), 1::bigint, 'asked again');
select from bpm.advance_clock('61 seconds');
select is((select t.done ->> 'commands' from bpm.tick() t), '1', 'whoever asked is gone');
select is((select u.state || ' ' || u.reason || ' ' || u.next_step from bpm.unknown_command u), 'Unknown ProbeLost the receiver is asked', 'Unknown as before');
select is(pg_temp.answer(:'wi', 'Absent'), 'LeaseLost Unknown', 'its answer comes too late') from kit.command(:'wi') c where false union all select pass('its answer comes too late');
select from bpm.advance_clock('61 seconds');
select is((select count(*) from bpm.claim_probes('w', 10)), 1::bigint, 'a third time');
select is(pg_temp.answer(:'wi', 'Absent'), 'Unknown Unknown', 'not known there, which proves nothing');
select is((select u.next_step || ', ' || u.why_not_again from bpm.unknown_command u), 'a person, the receiver does not honour keys', 'as often as it has attempts: now a person');
select from bpm.advance_clock('1 day');
select is((select count(*) from bpm.claim_probes('w', 10)), 0::bigint, 'never asked again');

-- Found
select pg_temp.unknown('p') as wi \gset
select from bpm.claim_probes('w', 10);
select is(pg_temp.answer(:'wi', 'Found', '{"receipt": {"status": 200}}'), 'Sent Sent', 'found: sent');
select is(pg_temp.answer(:'wi', 'Found', '{"receipt": {"status": 200}}'), 'Sent Sent', 'its repeat');
select is((select c.receipt from bpm.command c where c.workflow_instance_id = :'wi'), '{"status": 200}', 'the receipt is kept');
select pg_temp.unknown('receipt') as wi \gset
select from bpm.claim_probes('w', 10);
select is(pg_temp.answer(:'wi', 'Found', '{"receipt": {"status": 200}}'), 'Unknown Unknown', 'found, without what makes a receipt');
select from bpm.advance_clock('25 seconds');
select from bpm.claim_probes('w', 10);
select is(pg_temp.answer(:'wi', 'Found', '{"receipt": {"body": {"number": 7}}}'), 'Sent Sent', 'and with it');

-- A late answer of the attempt itself, while the receiver is asked
select pg_temp.unknown('p') as wi \gset
select from bpm.claim_probes('w', 10);
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 201}}', 1), 'Sent Sent', 'the attempt''s own answer counts');
select is(pg_temp.answer(:'wi', 'Absent'), 'Sent Sent', 'and nothing after it');
select is(pg_temp.state(:'wi'), 'Sent', 'Sent it stays');

-- A person, while the receiver is asked
select pg_temp.unknown('p') as wi \gset
select from bpm.claim_probes('w', 10);
select is((select r.state from bpm.reconcile_command((select (c).command_id from kit.command(:'wi') c), 'Failed', p_actor => 'ann') r), 'Failed', 'a person decides meanwhile');
select is(pg_temp.answer(:'wi', 'Found'), 'Failed Failed', 'the probe changes nothing');

-- Absence as a proof
select pg_temp.unknown('proof') as wi \gset
select is((select (c).first_sent_at is not null from kit.command(:'wi') c), true, 'it may have arrived');
select from bpm.claim_probes('w', 10);
select is(pg_temp.answer(:'wi', 'Absent'), 'Pending Pending', 'it never did');
select is((select (c).first_sent_at is null and (c).review_at is null from kit.command(:'wi') c), true, 'so it is as if it had never been sent');
select from bpm.advance_clock('1 minute');
select is((select c.attempt from bpm.claim_commands('w', 10) c), 2, 'and is sent, when ever');
select kit.mark(:'wi', 'Unknown') as _ \gset
select from bpm.advance_clock('25 seconds');
select from bpm.claim_probes('w', 10);
select is(pg_temp.answer(:'wi', 'Absent'), 'Failed Failed', 'without attempts left it has failed');
select is((select i.code from bpm_core.incident i where i.workflow_instance_id = :'wi'), 'DeliveryExhausted', 'with an incident');

-- Keys honoured
select pg_temp.unknown('keyed') as wi \gset
select is((select count(*) from bpm_core.outbox o where o.review_at is not null), 0::bigint, 'where the receiver can be asked it is asked first');
select from bpm.claim_probes('w', 10);
select is(pg_temp.answer(:'wi', 'Absent', '{"retry_after_seconds": 1}'), 'Pending Pending', 'not known there: sent again with its key');
select is((select (c).review_at = (c).first_sent_at + interval '5 minutes' from kit.command(:'wi') c), true, 'while the receiver knows it');
select pg_temp.unknown('keyed') as wi \gset
select from bpm.advance_clock('5 minutes');
select from bpm.claim_probes('w', 10);
select is(pg_temp.answer(:'wi', 'Absent'), 'Unknown Unknown', 'not when it may have forgotten the key');

select is(kit.raised('select from bpm.mark_probes(''[{"command_id": "00000000-0000-0000-0000-000000000000", "fencing_token": 1, "outcome": "Sent"}]'')') ->> 'code', 'BP400', 'unknown outcome');
select is((select m.outcome || ' ' || coalesce(m.state, '-') from bpm.mark_probes('[{"command_id": "00000000-0000-0000-0000-000000000000", "fencing_token": 1, "outcome": "Found"}]') m), 'NotFound -', 'unknown command');
select throws_ok('select from bpm.claim_probes(''w'', p_tenant_id => ''nobody'')', 'BP403', null, 'tenant not granted');
select throws_ok('select from bpm.mark_probes(''[]'', ''nobody'')', 'BP403', null, 'nor here');
select throws_ok('select from bpm.claim_probes(''w'', 0)', 'BP422', null, 'arguments are checked');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;

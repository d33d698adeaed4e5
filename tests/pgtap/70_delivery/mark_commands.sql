-- bpm.mark_commands: every move out of Sending, what a stale or repeated mark is told, and what is refused.
begin;
select plan(99);
select kit.deploy_sending('plain');
select kit.deploy_sending('safe', '{"resend_allowed": true, "server_error_safe": true}');
select kit.deploy_sending('done', '{"conflict_means": "Sent"}');
select kit.deploy_sending('busy', '{"conflict_means": "Pending"}');
select kit.deploy_sending('receipted', '{"receipt_path": "body.id"}');
create function pg_temp.entry(p_instance uuid) returns text language sql as $$
  select concat_ws(' ', h.kind, h.from_state, h.to_state, h.actor, h.detail ->> 'reported')
    from bpm_core.history_event h where h.workflow_instance_id = p_instance order by h.seq desc limit 1
$$;

-- Sent
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 201, "body": {"id": 7}}, "detail": {"ms": 12}}'), 'Sent Sent', 'a success is Sent');
select is((select (c).receipt from kit.command(:'wi') c), '{"status": 201, "body": {"id": 7}}', 'the receipt is kept');
select is((select (c).first_sent_at = (c).claimed_at and (c).ended_at is not null and (c).worker_id is null and (c).lease_until is null from kit.command(:'wi') c), true,
          'sent since its claim, ended, leased by nobody');
select is(pg_temp.entry(:'wi'), 'CommandSent Sending Sent w1 Sent', 'history has it');
select is((select concat_ws(' ', a.attempt, a.worker_id, a.fencing_token, a.reported, a.outcome, a.late, a.detail, a.receipt -> 'status') from bpm_core.delivery_attempt a
             join bpm_core.outbox o on o.id = a.outbox_id where o.workflow_instance_id = :'wi'), '1 w1 1 Sent Sent f {"ms": 12} 201', 'and the attempt');
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 201, "body": {"id": 7}}, "detail": {"ms": 12}}'), 'Sent Sent', 'the same mark again gets the same answer');
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 201, "body": {"id": 8}}}'), 'Conflict Sent', 'another receipt is a conflict');
select is(kit.mark(:'wi', 'Unknown'), 'Conflict Sent', 'Sent does not become Unknown');
select is(kit.mark(:'wi', 'Refused'), 'Conflict Sent', 'nor Failed');
select is(kit.mark(:'wi', 'Sent', '{}', 99), 'LeaseLost Sent', 'another fence is told nothing');
select is((select count(*) from bpm_core.delivery_attempt a join bpm_core.outbox o on o.id = a.outbox_id where o.workflow_instance_id = :'wi'), 1::bigint, 'one attempt in all');
select is(kit.history(:'wi', 'Command%'), 'CommandWritten CommandSent', 'and one end');
select kit.sending('receipted') as wi \gset
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 200, "body": "ok"}}'), 'Unknown Unknown', 'a success without the receipt expected is Unknown');
select is((select (c).receipt from kit.command(:'wi') c), '{"status": 200, "body": "ok"}', 'what came is kept');
select kit.sending('receipted') as wi \gset
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 200, "body": {"id": 1}}}'), 'Sent Sent', 'with it, Sent');

-- NotSent
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'NotSent', '{"detail": {"error": "ConnectError"}}'), 'Pending Pending', 'nothing left: Pending again');
select ok((select (c).available_at between bpm_core.now() + interval '9 seconds' and bpm_core.now() + interval '11 seconds' from kit.command(:'wi') c), 'after its backoff');
select is((select (c).last_error from kit.command(:'wi') c), '{"error": "ConnectError", "outcome": "NotSent"}', 'with the reason');
select is((select (c).first_sent_at from kit.command(:'wi') c), null, 'the receiver cannot have seen it');
select is(pg_temp.entry(:'wi'), 'CommandRetried Sending Pending w1 NotSent', 'history has it');
select is(kit.mark(:'wi', 'NotSent', '{"detail": {"error": "ConnectError"}}'), 'Pending Pending', 'the same mark again gets the same answer');
select is(kit.mark(:'wi', 'Sent'), 'Conflict Pending', 'that it was sent after all comes too late for a command that is to be sent again');
select from bpm.advance_clock('15 seconds');
select from bpm.claim_commands('w2', 100);
select is(kit.mark(:'wi', 'NotSent', '{"detail": {"error": "ConnectError"}}', 1), 'Pending Pending', 'the first attempt''s mark still gets its first answer');
select is((select (c).state || ' ' || (c).fencing_token from kit.command(:'wi') c), 'Sending 2', 'and changes nothing under the second');
select is(kit.mark(:'wi', 'NotSent'), 'Pending Pending', 'a second attempt');
select ok((select (c).available_at between bpm_core.now() + interval '19 seconds' and bpm_core.now() + interval '22 seconds' from kit.command(:'wi') c), 'backs off twice as long');
select from bpm.advance_clock('30 seconds');
select from bpm.claim_commands('w2', 100);
select is(kit.mark(:'wi', 'NotSent'), 'Failed Failed', 'the last attempt that did not leave fails the command');
select is(kit.history(:'wi', '%'), 'InstanceStarted CommandWritten CommandRetried CommandRetried CommandFailed IncidentOpened', 'with an incident, in one transaction');
select is((select concat_ws(' ', i.code, i.state, i.token_id, i.node_id, i.detail ->> 'may_have_arrived') from bpm.incident i where i.workflow_instance_id = :'wi'),
          'DeliveryExhausted Open a false', 'which stops no token');
select is((select t.node_id || ' ' || t.state from bpm_core.token t where t.workflow_instance_id = :'wi'), 'b Waiting', 'the token is where it was');
select is((select concat_ws(' ', d.kind, d.state, d.error ->> 'code', d.payload, d.outbox_id = (select (c).id from kit.command(:'wi') c))
             from bpm.dead_letter d where d.workflow_instance_id = :'wi'), 'Command Open DeliveryExhausted {} t', 'and a dead letter');
select throws_ok(format('select from bpm.requeue_dead_letter(%L)', (select d.dead_letter_id from bpm.dead_letter d where d.workflow_instance_id = :'wi')), 'BP409', null,
                 'that is not simply requeued');

-- Unknown, and the late answers
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'Unknown', '{"detail": {"error": "ReadTimeout"}}'), 'Unknown Unknown', 'written, then silence: Unknown');
select is((select (c).first_sent_at = (c).claimed_at from kit.command(:'wi') c), true, 'the receiver may have seen it since the claim');
select is((select (c).review_at from kit.command(:'wi') c), null, 'not sent again: the profile does not allow it');
select is(pg_temp.entry(:'wi'), 'CommandUnknown Sending Unknown w1 Unknown', 'history has it');
select is((select count(*) from bpm.claim_commands('w1', 10)), 0::bigint, 'nobody can claim it');
select is(kit.mark(:'wi', 'Unknown', '{"detail": {"error": "ReadTimeout"}}'), 'Unknown Unknown', 'the same mark again gets the same answer');
select is(kit.mark(:'wi', 'NotSent'), 'Conflict Unknown', 'it does not become Pending by a second thought');
select is(kit.mark(:'wi', 'Refused'), 'Conflict Unknown', 'nor Failed');
select is(kit.mark(:'wi', 'Sent', '{}', 2), 'LeaseLost Unknown', 'nor Sent by somebody who never held it');
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 200}}'), 'Sent Sent', 'but a late answer that it arrived counts');
select is(pg_temp.entry(:'wi'), 'CommandSent Unknown Sent Sent', 'history has it');
select is((select string_agg(concat_ws(' ', a.attempt, a.late, a.worker_id, a.reported, a.outcome), ', ' order by a.late) from bpm_core.delivery_attempt a
             join bpm_core.outbox o on o.id = a.outbox_id where o.workflow_instance_id = :'wi'), '1 f w1 Unknown Unknown, 1 t w1 Sent Sent', 'both answers of the attempt are kept');
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 200}}'), 'Sent Sent', 'the late mark again gets its answer');
select is(kit.mark(:'wi', 'Unknown', '{"detail": {"error": "ReadTimeout"}}'), 'Unknown Unknown', 'and so does the first');
select is((select (c).state::text from kit.command(:'wi') c), 'Sent', 'which changes nothing');
select kit.sending('receipted') as wi \gset
select kit.mark(:'wi', 'Unknown') as _ \gset
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"body": "ok"}}'), 'Conflict Unknown', 'a late answer needs the receipt expected like any other');
select kit.sending('done') as wi \gset
select kit.mark(:'wi', 'Unknown') as _ \gset
select is(kit.mark(:'wi', 'Conflict'), 'Sent Sent', 'that it was done already is such an answer too');

-- After the lease
select kit.sending('plain') as wi \gset
select from bpm.advance_clock('61 seconds');
select is(kit.mark(:'wi', 'NotSent'), 'LeaseLost Sending', 'after the lease a mark is lost');
select is(kit.mark(:'wi', 'Unknown'), 'LeaseLost Sending', 'whatever it says');
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 200}}'), 'Sent Sent', 'but that it arrived');
select kit.sending('plain') as wi \gset
select from bpm.advance_clock('61 seconds');
select from bpm.tick();
select is(kit.mark(:'wi', 'NotSent'), 'LeaseLost Unknown', 'after the reaper, too, it is lost');
select is(kit.mark(:'wi', 'Sent'), 'Sent Sent', 'but that it arrived');
select kit.sending('safe') as wi \gset
select from bpm.advance_clock('61 seconds');
select from bpm.tick();
select from bpm.advance_clock('12 seconds');
select from bpm.tick();
select is(kit.mark(:'wi', 'NotSent'), 'LeaseLost Pending', 'nor when it was released to be sent again');
select is(kit.mark(:'wi', 'Sent'), 'Sent Sent', 'but that it arrived: accept_late_marks.sql');
select is((select string_agg(concat_ws(' ', a.attempt, a.late, a.worker_id, a.outcome), ', ' order by a.attempt, a.late) from bpm_core.delivery_attempt a
             join bpm_core.outbox o on o.id = a.outbox_id where o.workflow_instance_id = :'wi'), '1 f w1 Unknown, 1 t w1 Sent', 'as an answer of its own attempt');

select kit.sending('plain') as wi \gset
select kit.mark(:'wi', 'NotSent') as _ \gset
select from bpm.advance_clock('12 seconds');
select from bpm.claim_commands('w2', 10);
select kit.mark(:'wi', 'Unknown') as _ \gset
select is(kit.mark(:'wi', 'Sent', '{}', 1), 'Conflict Unknown', 'an attempt that was said not to have left does not turn out to have arrived');

-- InProgress, Conflict, Refused, KeyReused, Throttled, ReceiverError
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'InProgress', '{"retry_after_seconds": 2}'), 'Pending Pending', 'the receiver is at it: Pending');
select ok((select (c).available_at between bpm_core.now() + interval '1 second' and bpm_core.now() + interval '2 seconds' from kit.command(:'wi') c), 'for as long as it asks for');
select is((select (c).review_at = (c).first_sent_at + interval '1 hour' from kit.command(:'wi') c), true, 'while it remembers our key');
select from bpm.advance_clock('3 seconds');
select is((select c.attempt || ' ' || c.command_id from bpm.claim_commands('w1', 10) c), '2 ' || (select (c).command_id from kit.command(:'wi') c), 'then the same key again');
select is(kit.mark(:'wi', 'InProgress'), 'Pending Pending', 'still at it');
select from bpm.advance_clock('30 seconds');
select from bpm.claim_commands('w1', 10);
select is(kit.mark(:'wi', 'NotSent'), 'Unknown Unknown', 'attempts used up after it may have been seen: Unknown, not Failed');
select kit.sending('busy') as wi \gset
select is(kit.mark(:'wi', 'Conflict'), 'Pending Pending', '409 means "in progress" where the profile says so');
select kit.sending('done') as wi \gset
select is(kit.mark(:'wi', 'Conflict', '{"receipt": {"status": 409}}'), 'Sent Sent', 'and "already done" where it says that');
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'Conflict'), 'Failed Failed', 'else that the key was used for something else');
select is((select i.code from bpm.incident i where i.workflow_instance_id = :'wi'), 'KeyReused', 'an incident, and never a new key');
select is((select count(*) from bpm.command c where c.workflow_instance_id = :'wi'), 1::bigint, 'no second command');
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'KeyReused'), 'Failed Failed', 'as the runner may know by itself');
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'Refused', '{"detail": {"status": 422}}'), 'Failed Failed', 'a refusal fails the command at the first attempt');
select is((select i.code || ' ' || (i.detail #>> '{error,status}') from bpm.incident i where i.workflow_instance_id = :'wi'), 'DeliveryRefused 422', 'with what was answered');
select is(kit.mark(:'wi', 'Refused', '{"detail": {"status": 422}}'), 'Failed Failed', 'the same mark again gets the same answer');
select is((select count(*) from bpm.dead_letter d where d.workflow_instance_id = :'wi'), 1::bigint, 'and no second dead letter');
select is(kit.mark(:'wi', 'Sent'), 'Conflict Failed', 'Failed does not become Sent');
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'Throttled', '{"retry_after_seconds": 120}'), 'Pending Pending', 'throttled: Pending');
select ok((select (c).available_at between bpm_core.now() + interval '119 seconds' and bpm_core.now() + interval '120 seconds' from kit.command(:'wi') c), 'at the time asked for');
select is((select (c).first_sent_at from kit.command(:'wi') c), null, 'not seen as done');
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'Throttled', '{"retry_after_seconds": 1e9}'), 'Pending Pending', 'throttled for ever');
select ok((select (c).available_at <= bpm_core.now() + interval '1 day' from kit.command(:'wi') c), 'is at most a day');
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'ReceiverError'), 'Unknown Unknown', 'a receiver''s error leaves it Unknown');
select kit.sending('safe') as wi \gset
select is(kit.mark(:'wi', 'ReceiverError'), 'Pending Pending', 'unless the profile says that nothing was stored');

-- Sets: several commands, one twice, one that is not there
select kit.sending('plain') as one \gset
select kit.sending('plain') as two \gset
select is((
  select string_agg(m.item || ' ' || m.outcome || ' ' || coalesce(m.state, '-'), ', ' order by m.item)
    from bpm.mark_commands(jsonb_build_array(
      jsonb_build_object('command_id', (kit.command(:'one')).command_id, 'fencing_token', 1, 'outcome', 'Sent'),
      jsonb_build_object('command_id', bpm_core.new_id(), 'fencing_token', 1, 'outcome', 'Sent'),
      jsonb_build_object('command_id', (kit.command(:'two')).command_id, 'fencing_token', 1, 'outcome', 'NotSent'),
      jsonb_build_object('command_id', (kit.command(:'one')).command_id, 'fencing_token', 1, 'outcome', 'Sent'),
      jsonb_build_object('command_id', (kit.command(:'one')).command_id, 'fencing_token', 1, 'outcome', 'NotSent'))) m),
  '1 Sent Sent, 2 NotFound -, 3 Pending Pending, 4 Sent Sent, 5 Conflict Sent', 'each item has its outcome; of one command the first counts');
select is((select count(*) from bpm.mark_commands('[]')), 0::bigint, 'an empty set is one');
select kit.start('plain') as wi \gset
select is(kit.mark(:'wi', 'Sent', '{}', 1), 'LeaseLost Pending', 'what was not claimed cannot be marked');
select bpm_core.cancel_commands('', array[:'wi'::uuid]);
select is(kit.mark(:'wi', 'Sent', '{}', 1), 'Cancelled Cancelled', 'nor what was cancelled');
select kit.sending('plain') as wi \gset
select is(kit.mark(:'wi', 'Sent', jsonb_build_object('receipt', jsonb_build_object('body', repeat('x', 70000)))), 'Sent Sent', 'a huge receipt does not lose the delivery');
select is((select (c).receipt ->> 'omitted_bytes' from kit.command(:'wi') c), '70012', 'its size is kept instead');

-- What is refused, with nothing changed
select kit.sending('plain') as wi \gset
create function pg_temp.item(p_instance uuid, p_more text) returns text language sql as $$
  select format('select from bpm.mark_commands(%L)', jsonb_build_array(jsonb_build_object('command_id', (c).command_id, 'fencing_token', 1, 'outcome', 'Sent') || p_more::jsonb))
    from kit.command(p_instance) c
$$;
select throws_ok('select from bpm.mark_commands(''{}'')', 'BP400', null, 'not an array');
select throws_ok(pg_temp.item(:'wi', '{"outcome": "Done"}'), 'BP400', null, 'no such outcome');
select throws_ok(pg_temp.item(:'wi', '{"command_id": "x"}'), 'BP400', null, 'no such id');
select throws_ok(pg_temp.item(:'wi', '{"detail": 5}'), 'BP400', null, 'a detail that is no object');
select throws_ok(pg_temp.item(:'wi', '{"retry_after_seconds": -1}'), 'BP400', null, 'a time in the past');
select is((bpm_core.parse_marks('[{"command_id": "00000000-0000-0000-0000-000000000000", "fencing_token": 1, "outcome": "Throttled", "retry_after_seconds": 1e-400}]'))[1].retry_in,
  interval '0', 'a time too short for a double');
select throws_ok(pg_temp.item(:'wi', '{"receit": {}}'), 'BP400', null, 'a key that is not known');
select throws_ok('select from bpm.mark_commands((select jsonb_agg(i) from generate_series(1, 1001) i))', 'BP429', null, 'too many items');
select throws_ok('select from bpm.mark_commands(''[]'', ''nobody'')', 'BP403', null, 'tenant not granted');
select is((select (c).state::text from kit.command(:'wi') c), 'Sending', 'whatever was refused changed nothing');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;

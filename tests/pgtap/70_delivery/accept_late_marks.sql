-- The answer of an attempt whose end nobody knew, after the command was to be sent again: what arrived is not sent again.
begin;
select plan(29);
select kit.deploy_sending('proof', '{"probe_url": "http://receiver.test/of/{command_id}", "absent_means": "Pending", "max_attempts": 3}');
select kit.deploy_sending('keyed', '{"resend_allowed": true, "max_attempts": 3, "max_concurrent": 1}');
select kit.deploy_sending('queue', '{"probe_url": "http://receiver.test/of/{command_id}", "absent_means": "Pending", "max_attempts": 3, "ordered": true}');
-- A command of which the receiver said that it never got it.
create function pg_temp.absent(p_code text, p_key text default null) returns uuid language plpgsql as $$
declare
  v_instance uuid := kit.start(p_code, '{}', p_key);
begin
  perform from bpm.claim_commands('w1', 1000);
  perform kit.mark(v_instance, 'Unknown');
  perform bpm.advance_clock('12 seconds');
  perform m.outcome
     from bpm.claim_probes('w', 10) p
    cross join lateral bpm.mark_probes(jsonb_build_array(jsonb_build_object('command_id', p.command_id, 'fencing_token', p.fencing_token, 'outcome', 'Absent'))) m;
  return v_instance;
end $$;
create function pg_temp.state(p_instance uuid) returns text language sql as $$ select (c).state::text from kit.command(p_instance) c $$;
create function pg_temp.attempts(p_instance uuid) returns text language sql as $$
  select string_agg(concat_ws(' ', a.attempt, case when a.late then 'late' end, coalesce(a.reported, a.detail ->> 'error'), '→', a.outcome), ', ' order by a.attempt, a.late)
    from bpm_core.delivery_attempt a join bpm_core.outbox o on o.id = a.outbox_id where o.workflow_instance_id = p_instance $$;

-- It waits to be sent again
select pg_temp.absent('proof') as wi \gset
select is(pg_temp.state(:'wi'), 'Pending', 'the receiver says that it never came');
select is(kit.mark(:'wi', 'NotSent', p_fence => 1), 'Conflict Pending', 'of late answers none counts');
select is(kit.mark(:'wi', 'Refused', p_fence => 1), 'Conflict Pending', 'that says anything else');
select is(kit.mark(:'wi', 'Sent', p_fence => 2), 'LeaseLost Pending', 'nor one of whom was never sent with (the fence of the probe)');
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 201}}', 1), 'Sent Sent', 'but that it came: the receiver was wrong, or early');
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 201}}', 1), 'Sent Sent', 'its repeat');
select is(kit.mark(:'wi', 'Sent', '{"receipt": {"status": 202}}', 1), 'Conflict Sent', 'another receipt for the same');
select from bpm.advance_clock('1 minute');
select is((select count(*) from bpm.claim_commands('w', 10)), 0::bigint, 'it is not sent again');
select is((select c.receipt from bpm.command c where c.workflow_instance_id = :'wi'), '{"status": 201}', 'the receipt is kept');
select is(pg_temp.attempts(:'wi'), '1 Unknown → Unknown, 1 late Sent → Sent', 'with both answers of the attempt');
select is((select h.kind || ' ' || h.from_state || ' ' || h.to_state from bpm_core.history_event h where h.workflow_instance_id = :'wi' order by h.seq desc limit 1),
          'CommandSent Pending Sent', 'and history');
select is((select (c).first_sent_at is not null and (c).review_at is null from kit.command(:'wi') c), true, 'it is one that was sent');

-- It is being sent again
select pg_temp.absent('proof') as wi \gset
select from bpm.advance_clock('1 minute');
select is((select c.attempt || ' ' || c.fencing_token from bpm.claim_commands('w2', 10) c), '2 3', 'under way a second time');
select is(kit.mark(:'wi', 'Sent', p_fence => 1), 'Sent Sent', 'the first attempt arrived');
select is(pg_temp.attempts(:'wi'), '1 Unknown → Unknown, 1 late Sent → Sent, 2 Overtaken → Sent', 'the second is overtaken');
select is(kit.mark(:'wi', 'Refused', p_fence => 3), 'LeaseLost Sent', 'what it reports comes too late');
select is(kit.mark(:'wi', 'Sent', p_fence => 3), 'LeaseLost Sent', 'whatever that is');
select from bpm.advance_clock('1 hour');
select is((select t.done ->> 'commands' from bpm.tick() t), '0', 'no lease is left of it');

-- Where keys are honoured
select kit.sending('keyed') as wi \gset
select kit.mark(:'wi', 'Unknown') as _ \gset
select from bpm.advance_clock('12 seconds');
select is((select t.done ->> 'unknown' from bpm.tick() t), '1', 'to be sent again with its key');
select is(kit.mark(:'wi', 'Sent', p_fence => 1), 'Sent Sent', 'no need to');
select kit.sending('keyed') as wi \gset
select kit.mark(:'wi', 'Unknown') as _ \gset
select from bpm.advance_clock('12 seconds');
select from bpm.tick();
select is((select c.attempt from bpm.claim_commands('w2', 10) c), 2, 'sent again with its key');
select kit.start('keyed') as after \gset
select is((select count(*) from bpm.claim_commands('w2', 10)), 0::bigint, 'nothing else beside it');
select is(kit.mark(:'wi', 'Sent', p_fence => 1), 'Sent Sent', 'the first answers');
select is((select count(*) from bpm.claim_commands('w2', 10)), 1::bigint, 'and its slot is free');

-- Those behind it in a sequence
select pg_temp.absent('queue', 'K') as wi \gset
select kit.start('queue', '{}', 'K') as next \gset
select from bpm.claim_commands('w', 1000);
select is(pg_temp.state(:'wi') || ' ' || pg_temp.state(:'next'), 'Pending Pending', 'the first is to be sent again, the next waits');
select is(kit.mark(:'wi', 'Sent', p_fence => 1), 'Sent Sent', 'the first had come');
select is((select x.workflow_instance_id from bpm.claim_commands('w', 10) c join bpm.command x using (command_id)), :'next'::uuid, 'the next is woken');

-- One of several in one call
select pg_temp.absent('proof') as wi \gset
select from bpm.advance_clock('1 minute');
select from bpm.claim_commands('w2', 10);
select is((select string_agg(m.outcome || ' ' || m.state, ', ' order by m.item) from bpm.mark_commands((
             select jsonb_build_array(jsonb_build_object('command_id', (c).command_id, 'fencing_token', 3, 'outcome', 'NotSent'),
                                      jsonb_build_object('command_id', (c).command_id, 'fencing_token', 1, 'outcome', 'Sent')) from kit.command(:'wi') c)) m),
          'Pending Pending, Sent Sent', 'the second did not leave, the first had come');

select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;

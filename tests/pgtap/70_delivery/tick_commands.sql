-- bpm_core.tick_commands: leases that ran out while Sending.
begin;
select plan(20);
select kit.deploy_sending('plain');
select kit.deploy_sending('again', '{"resend_allowed": true}');
create function pg_temp.tick(p_limit integer, p_position jsonb default null) returns bpm_core.tick_result language sql as $$
  select bpm_core.tick_commands('', p_limit, jsonb_populate_record(null::bpm_core.pick_position, p_position), bpm_core.now())
$$;

select is((pg_temp.tick(10)).done, 0, 'nothing is being sent');
select kit.start('plain') as one \gset
select kit.start('again') as two \gset
select from bpm.claim_commands('w1', 1);
select from bpm.claim_commands('w1', 1, '2 minutes');
select is((pg_temp.tick(10)).done, 0, 'a lease that runs is left alone');
select is((pg_temp.tick(10)).next_due_at, null, 'when the next runs out is not looked for');
select from bpm.advance_clock('61 seconds');
select is((pg_temp.tick(10)).done, 1, 'the one that ran out is dealt with');
select is((select (c).state || ' ' || ((c).first_sent_at = (c).claimed_at) from kit.command(:'one') c), 'Unknown true', 'it is Unknown: it may have left');
select is((select (c).last_error ->> 'error' from kit.command(:'one') c), 'LeaseExpired', 'because nobody said what became of it');
select is((select concat_ws(' ', a.attempt, a.worker_id, a.reported, a.outcome) from bpm_core.delivery_attempt a join bpm_core.outbox o on o.id = a.outbox_id
            where o.workflow_instance_id = :'one'), '1 w1 Unknown', 'the attempt ended, unreported');
select is((select concat_ws(' ', h.kind, h.from_state, h.to_state, h.detail #>> '{detail,error}') from bpm_core.history_event h
            where h.workflow_instance_id = :'one' order by h.seq desc limit 1), 'CommandUnknown Sending Unknown LeaseExpired', 'history says so');
select is((select (c).review_at from kit.command(:'one') c), null, 'not to be sent again, where the profile does not allow it');
select is((pg_temp.tick(10)).done, 0, 'once');
select from bpm.advance_clock('60 seconds');
select is((pg_temp.tick(10)).done, 1, 'the other one when its own lease is over');
select ok((select (c).review_at between bpm_core.now() + interval '9 seconds' and bpm_core.now() + interval '11 seconds' from kit.command(:'two') c),
          'to be sent again after its backoff, where the profile allows it');

-- Limit, positions, tick
select count(*) from bpm.start_processes('[{"code": "plain"}, {"code": "plain"}, {"code": "plain"}]') \gset s_
select from bpm.claim_commands('w1', 10);
select from bpm.advance_clock('61 seconds');
select (t).done as done, to_jsonb((t).next_position) as position from pg_temp.tick(2) t \gset
select is(:done, 2, 'at most as many as asked for');
select is((:'position'::jsonb ->> 'reached_at')::timestamptz, (select min(o.lease_until) from bpm_core.outbox o where o.state = 'Sending'), 'the position stands there');
select is((pg_temp.tick(2, :'position')).done, 1, 'and the next tick goes on from it');
select kit.sending('plain') as wi \gset
select from bpm.advance_clock('61 seconds');
select is((select t.done ->> 'commands' from bpm.tick() t), '1', 'bpm.tick drives it');
select is((select (c).state::text from kit.command(:'wi') c), 'Unknown', 'like that');

-- One that was marked in the meantime
select kit.sending('plain') as wi \gset
select from bpm.advance_clock('61 seconds');
select kit.mark(:'wi', 'Sent') as _ \gset
select is(bpm_core.expire_commands('', array[(kit.command(:'wi')).id], bpm_core.now()), 0, 'one that was marked before the lock was had stays as it is');
select is((select (c).state::text from kit.command(:'wi') c), 'Sent', 'Sent');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;

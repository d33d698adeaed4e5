-- bpm_core.tick_unknown: sent again with the same key, within the receiver's memory of it, where the profile allows; else never by itself.
begin;
select plan(28);
select kit.deploy_sending('plain');
select kit.deploy_sending('again', '{"resend_allowed": true}');
select kit.deploy_sending('forgetful', '{"resend_allowed": true, "key_retention": "2 minutes"}');
select kit.deploy_sending('blink', '{"resend_allowed": true, "key_retention": "65 seconds"}');
select kit.deploy_sending('once', '{"resend_allowed": true, "max_attempts": 1}');
create function pg_temp.tick() returns bpm_core.tick_result language sql as $$ select bpm_core.tick_unknown('', 100, null, bpm_core.now()) $$;
create function pg_temp.unknown(p_code text) returns uuid language plpgsql as $$
declare
  v_instance uuid := kit.sending(p_code);
begin
  perform kit.mark(v_instance, 'Unknown');
  return v_instance;
end $$;

select pg_temp.unknown('again') as wi \gset
select (c).command_id as id, (c).payload_hash as hash, (c).review_at as planned from kit.command(:'wi') c \gset
select is((select c.sent_again_at from bpm.command c where c.command_id = :'id'), :'planned'::timestamptz, 'the plan to send it again can be seen');
select is((pg_temp.tick()).done, 0, 'not before its backoff is over');
select is((pg_temp.tick()).next_due_at, :'planned'::timestamptz, 'but then');
select from bpm.advance_clock('12 seconds');
select is((pg_temp.tick()).done, 1, 'then it is released');
select is((select (c).state || ' ' || (c).attempt from kit.command(:'wi') c), 'Pending 1', 'Pending again');
select is((select (c).review_at = (c).first_sent_at + interval '1 hour' from kit.command(:'wi') c), true, 'until the receiver may forget the key');
select is((select concat_ws(' ', h.kind, h.from_state, h.to_state, h.detail #>> '{detail,reason}') from bpm_core.history_event h
            where h.workflow_instance_id = :'wi' order by h.seq desc limit 1), 'CommandRetried Unknown Pending Resend', 'history says why');
select is((select c.attempt || ' ' || c.command_id || ' ' || c.payload_hash from bpm.claim_commands('w2', 10) c), '2 ' || :'id' || ' ' || substr(:'hash', 3),
          'and goes out with the same id and payload');
select is(kit.mark(:'wi', 'Sent'), 'Sent Sent', 'the receiver knows it');
select is((select (c).first_sent_at < (c).claimed_at from kit.command(:'wi') c), true, 'it may have been there since the first attempt');
select is((pg_temp.tick()).done, 0, 'nothing is left to do');

-- Never by itself
select pg_temp.unknown('plain') as plain \gset
select pg_temp.unknown('once') as once \gset
select from bpm.advance_clock('30 minutes');
select is((pg_temp.tick()).done, 0, 'a profile that does not allow it, and attempts used up: nothing is done');
select is((select (a).state || ' ' || (b).state from kit.command(:'plain') a cross join kit.command(:'once') b), 'Unknown Unknown', 'both stay Unknown');
select pg_temp.unknown('blink') as wi \gset
select is((select (c).review_at from kit.command(:'wi') c), null, 'nor where no attempt would end within the receiver''s memory');

-- A tick that comes too late
select pg_temp.unknown('forgetful') as wi \gset
select isnt((select (c).review_at from kit.command(:'wi') c), null, 'it is planned to be sent again');
select from bpm.advance_clock('90 seconds');
select is((pg_temp.tick()).done, 1, 'the tick that comes when an attempt would no longer end in time');
select is((select (c).state || ' ' || coalesce((c).review_at::text, 'never') from kit.command(:'wi') c), 'Unknown never', 'drops the plan');
select is(kit.history(:'wi', 'CommandRetried'), null, 'it was not released');
select is((pg_temp.tick()).done, 0, 'and not looked at again');

-- Released, but nobody claims it in time
select pg_temp.unknown('forgetful') as wi \gset
select from bpm.advance_clock('12 seconds');
select is((pg_temp.tick()).done, 1, 'released');
select from bpm.advance_clock('60 seconds');
select is((select count(*) from bpm.claim_commands('w', 10)), 0::bigint, 'not handed out when the lease would outlast the receiver''s memory');
select is((pg_temp.tick()).done, 0, 'still released');
select from bpm.advance_clock('60 seconds');
select is((pg_temp.tick()).done, 1, 'until the memory ends');
select is((select (c).state || ' ' || coalesce((c).review_at::text, 'never') from kit.command(:'wi') c), 'Unknown never', 'then it is Unknown for good');
select is((select h.detail #>> '{detail,reason}' from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'CommandUnknown' order by h.seq desc limit 1),
          'RetentionOver', 'as history says');

-- Driven by bpm.tick, to the end of its attempts
select pg_temp.unknown('again') as wi \gset
select from bpm.advance_clock('12 seconds');
select is((select t.done ->> 'unknown' from bpm.tick() t), '1', 'bpm.tick drives it');
select from bpm.claim_commands('w', 10);
select kit.mark(:'wi', 'Unknown') as _ \gset
select from bpm.advance_clock('30 seconds');
select from bpm.tick();
select from bpm.claim_commands('w', 10);
select kit.mark(:'wi', 'Unknown') as _ \gset
select is((select (c).state || ' ' || (c).attempt || ' ' || coalesce((c).review_at::text, 'never') from kit.command(:'wi') c), 'Unknown 3 never', 'as often as it has attempts');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;

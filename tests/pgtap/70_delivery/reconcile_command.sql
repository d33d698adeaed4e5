-- bpm.reconcile_command: somebody says what became of an Unknown command.
begin;
select plan(46);
select kit.deploy_sending('plain');
select kit.deploy_sending('again', '{"resend_allowed": true}');
select kit.deploy_sending('once', '{"resend_allowed": true, "max_attempts": 1}');
create function pg_temp.unknown(p_code text) returns uuid language plpgsql as $$
declare
  v_instance uuid := kit.sending(p_code);
begin
  perform kit.mark(v_instance, 'Unknown');
  return v_instance;
end $$;
create function pg_temp.reconcile(p_instance uuid, p_outcome text, p_receipt jsonb default null, p_reason text default null, p_actor text default null)
returns text language sql as $$
  select r.state from bpm.reconcile_command((kit.command(p_instance)).command_id, p_outcome, p_receipt, p_reason, p_actor) r
$$;
create function pg_temp.refused(p_instance uuid, p_outcome text, p_receipt jsonb default null) returns jsonb language sql as $$
  select kit.raised(format('select from bpm.reconcile_command(%L, %L, %L)', (c).command_id, p_outcome, p_receipt)) from kit.command(p_instance) c
$$;

-- Sent
select pg_temp.unknown('plain') as wi \gset
select is(pg_temp.reconcile(:'wi', 'Sent', '{"seen": "in their list"}', 'asked them', 'ann'), 'Sent', 'it arrived');
select is((select (c).receipt || jsonb_build_object('ended', (c).ended_at is not null) from kit.command(:'wi') c), '{"seen": "in their list", "ended": true}', 'with what proves it');
select is((select concat_ws(' ', h.kind, h.from_state, h.to_state, h.actor, h.detail #>> '{detail,reason}') from bpm_core.history_event h
            where h.workflow_instance_id = :'wi' order by h.seq desc limit 1), 'CommandReconciled Unknown Sent ann asked them', 'history says who');
select is((select concat_ws(' ', e.actor, e.action, e.reason, e.detail ->> 'outcome', e.detail ->> 'from') from bpm_core.audit_event e where e.aggregate_type = 'command'),
          'ann ReconcileCommand asked them Sent Unknown', 'and so does the audit');
select is(pg_temp.reconcile(:'wi', 'Sent', '{"seen": "in their list"}'), 'Sent', 'the same again gets the first answer');
select is((select count(*) from bpm_core.audit_event e where e.aggregate_type = 'command'), 1::bigint, 'and does nothing');
select is(pg_temp.refused(:'wi', 'Sent', '{"seen": "elsewhere"}') ->> 'code', 'BP409', 'with another receipt it is a conflict');
select is(pg_temp.refused(:'wi', 'Failed') -> 'detail' ->> 'state', 'Sent', 'Sent becomes nothing else');
select is((select count(*) from bpm_core.delivery_attempt a join bpm_core.outbox o on o.id = a.outbox_id where o.workflow_instance_id = :'wi'), 1::bigint,
          'a reconciliation is no attempt');
select is(kit.mark(:'wi', 'Sent'), 'Conflict Sent', 'a late answer of the attempt changes nothing then');

-- Failed
select pg_temp.unknown('plain') as wi \gset
select is(pg_temp.reconcile(:'wi', 'Failed', null, 'they never got it'), 'Failed', 'it did not arrive');
select is((select i.code || ' ' || (i.detail #>> '{error,reason}') from bpm.incident i where i.workflow_instance_id = :'wi'), 'DeliveryFailed they never got it', 'an incident says why');
select is((select d.kind || ' ' || (d.error ->> 'code') from bpm.dead_letter d where d.workflow_instance_id = :'wi'), 'Command DeliveryFailed', 'and a dead letter');
select is(pg_temp.reconcile(:'wi', 'Failed'), 'Failed', 'the same again gets the first answer');
select is((select count(*) from bpm.dead_letter d where d.workflow_instance_id = :'wi'), 1::bigint, 'and no second dead letter');

-- Resend
select pg_temp.unknown('again') as wi \gset
select (c).command_id as id from kit.command(:'wi') c \gset
select is(pg_temp.reconcile(:'wi', 'Resend'), 'Pending', 'send it again');
select is((select c.attempt || ' ' || c.command_id from bpm.claim_commands('w', 10) c), '2 ' || :'id', 'goes out at once, with the same id');
select is(pg_temp.reconcile(:'wi', 'Resend'), 'Pending', 'the same again gets the first answer');
select is((select (c).state::text from kit.command(:'wi') c), 'Sending', 'and does nothing');
select kit.mark(:'wi', 'Unknown') as _ \gset
select is(pg_temp.reconcile(:'wi', 'Resend'), 'Pending', 'when it is Unknown anew it may be sent anew');
select pg_temp.unknown('once') as wi \gset
select is(pg_temp.reconcile(:'wi', 'Resend'), 'Pending', 'a person may send again what had no attempts left');
select is((select (c).attempt || ' of ' || (c).max_attempts from kit.command(:'wi') c), '1 of 2', 'it gets one more');
select pg_temp.unknown('plain') as wi \gset
select pg_temp.refused(:'wi', 'Resend') as refused \gset
select is(:'refused'::jsonb ->> 'code', 'BP422', 'where the profile does not allow it, it is refused');
select is(:'refused'::jsonb #>> '{detail,cause}', 'ResendNotAllowed', 'for that cause');
select pg_temp.unknown('again') as late \gset
select from bpm.advance_clock('59 minutes 30 seconds');
select pg_temp.refused(:'late', 'Resend') as refused \gset
select is(:'refused'::jsonb ->> 'code', 'BP422', 'when an attempt would outlast the receiver''s memory, it is refused');
select is(:'refused'::jsonb #>> '{detail,cause}', 'RetentionOver', 'for that cause');
select is((select (a).state || ' ' || (b).state from kit.command(:'wi') a cross join kit.command(:'late') b), 'Unknown Unknown', 'both are as they were');

-- Manual
select pg_temp.unknown('again') as wi \gset
select is(pg_temp.reconcile(:'wi', 'Manual', null, 'I call them', 'ann'), 'Manual', 'a person takes it over');
select from bpm.advance_clock('12 seconds');
select from bpm.tick();
select is((select (c).state::text from kit.command(:'wi') c), 'Manual', 'tick leaves it to them');
select is(pg_temp.reconcile(:'wi', 'Manual'), 'Manual', 'the same again changes nothing');
select is((select count(*) from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'CommandReconciled'), 1::bigint, 'nothing at all');
select is(kit.mark(:'wi', 'NotSent'), 'Conflict Manual', 'a late answer that it did not leave does not count');
select is(pg_temp.reconcile(:'wi', 'Sent'), 'Sent', 'later they say what became of it');
select pg_temp.unknown('again') as wi \gset
select pg_temp.reconcile(:'wi', 'Manual') as _ \gset
select is(kit.mark(:'wi', 'Sent'), 'Sent Sent', 'a late answer that it arrived still does');

-- In the wrong state
select kit.start('plain') as wi \gset
select is(pg_temp.refused(:'wi', 'Sent') ->> 'code', 'BP409', 'Pending: nobody can say that it was sent');
select from bpm.claim_commands('w', 10);
select is(pg_temp.refused(:'wi', 'Failed') -> 'detail' ->> 'state', 'Sending', 'Sending: who holds it will say');
select kit.mark(:'wi', 'Refused') as _ \gset
select is(pg_temp.refused(:'wi', 'Resend') ->> 'code', 'BP409', 'Failed is final');

-- What is refused
select pg_temp.unknown('plain') as wi \gset
select throws_ok(format('select from bpm.reconcile_command(%L, ''Sent'')', bpm_core.new_id()), 'BP404', null, 'unknown command');
select throws_ok('select from bpm.reconcile_command(null, ''Sent'')', 'BP404', null, 'no command named');
select is(pg_temp.refused(:'wi', 'Perhaps') ->> 'code', 'BP422', 'no such outcome');
select is(pg_temp.refused(:'wi', null) ->> 'code', 'BP422', 'no outcome');
select is(pg_temp.refused(:'wi', 'Sent', to_jsonb(repeat('x', 66000))) ->> 'code', 'BP422', 'a receipt that is too large');
select throws_ok(format('select from bpm.reconcile_command(%L, ''Sent'', null, repeat(''x'', 4001))', (kit.command(:'wi')).command_id), 'BP422', null, 'a reason that is too long');
select throws_ok(format('select from bpm.reconcile_command(%L, ''Sent'', p_tenant_id => ''nobody'')', (kit.command(:'wi')).command_id), 'BP403', null, 'tenant not granted');
select is((select (c).state::text from kit.command(:'wi') c), 'Unknown', 'whatever was refused changed nothing');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;

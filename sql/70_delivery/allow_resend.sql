-- May this Unknown command be sent again by hand? If so it gets one attempt more, should it have none left.
-- Raises:   BP422 the receiver's profile does not allow it, or the receiver may have forgotten the key.
-- Writes:   outbox.
create or replace function bpm_core.allow_resend(p_command bpm_core.outbox)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_until timestamptz := bpm_core.resend_until(p_command.first_sent_at, p_command.destination_snapshot);
begin
  if not (p_command.destination_snapshot ->> 'resend_allowed')::boolean then
    perform bpm_core.fail('BP422', format('Destination %s does not allow sending a command again.', p_command.destination_code),
      jsonb_build_object('command_id', p_command.command_id, 'cause', 'ResendNotAllowed'),
      'Find out at the receiver whether it arrived, then reconcile it as Sent or Failed.');
  elsif v_until <= bpm_core.now() then
    perform bpm_core.fail('BP422', format('Destination %s may have forgotten the key of command %s.', p_command.destination_code, p_command.command_id),
      jsonb_build_object('command_id', p_command.command_id, 'cause', 'RetentionOver', 'until', v_until),
      'Find out at the receiver whether it arrived, then reconcile it as Sent or Failed.');
  end if;
  update bpm_core.outbox o
     set max_attempts = greatest(o.max_attempts, o.attempt + 1)
   where o.tenant_id = p_command.tenant_id and o.id = p_command.id;
end
$$;

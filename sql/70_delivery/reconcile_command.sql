-- A person, or a probe, says what became of a command whose delivery is Unknown: Sent, Failed, Resend (the same key again, where the receiver's
-- profile allows it and while it still knows the key), or Manual (a person takes it over; later Sent, Failed or Resend).
-- Returns:  one row: command_id, state. The same call again gets the first answer.
-- Raises:   BP403. BP404 no such command. BP409 it is not Unknown (detail: its state). BP422 no such outcome, receipt over 64 kB, reason over 4,000
--           characters, Resend not allowed or too late. 55P03, 40P01: repeat the call.
-- Writes:   outbox, history_event, audit_event; when Failed incident, dead_letter.
-- Locks:    workflow_instance.
create or replace function bpm.reconcile_command(
  p_command_id uuid, p_outcome text, p_receipt jsonb default null, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (command_id uuid, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  v_instance uuid;
  v_state    bpm_core.command_state;
  r_command  bpm_core.outbox;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reconciliation(p_outcome, p_receipt, p_reason);
  select o.workflow_instance_id into v_instance from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.command_id = p_command_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no command %s.', p_command_id), jsonb_build_object('command_id', p_command_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[v_instance]);
  select o.* into r_command from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.command_id = p_command_id;
  if r_command.state not in ('Unknown', 'Reconciling', 'Manual') then
    return query select p_command_id, bpm_core.first_reconciliation(r_command, p_outcome, p_receipt);
    return;
  end if;
  v_state := (case p_outcome when 'Resend' then 'Pending' else p_outcome end)::bpm_core.command_state;
  if v_state <> r_command.state then
    if v_state = 'Pending' then
      perform bpm_core.allow_resend(r_command);
    end if;
    perform bpm_core.move_commands(p_tenant_id, array[
      row(r_command.id, v_state, true, case when v_state = 'Failed' then 'DeliveryFailed' end, null, p_receipt,
          jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), interval '0', null, r_command.attempt, v_actor)::bpm_core.command_move]);
    perform bpm_core.wake_sleepers('commands', p_tenant_id);
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ReconcileCommand', 'command', p_command_id::text, null, p_reason,
      jsonb_build_object('outcome', p_outcome, 'from', r_command.state, 'state', v_state, 'receipt', p_receipt));
  end if;
  return query select p_command_id, v_state::text;
end
$$;

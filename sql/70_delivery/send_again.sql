-- Sends what a command said a second time, because a person says so: a new command with an id of its own, which the receiver cannot take for the
-- old one, to the destination as it is now. Only of one that is Sent or Failed; an Unknown one is reconciled first. The dead letter of one that failed is
-- closed, as Requeued, and its incident resolved.
-- p_reason: why; needed. p_idempotency_key: a repeat with it gets the first answer.
-- Returns:  one row: command_id (the new one), again_of, is_new.
-- Raises:   BP403. BP404 no such command. BP409 it is neither Sent nor Failed, or the key was used for another request. BP422 no reason, the
--           destination is gone. 55P03, 40P01: repeat the call.
-- Writes:   outbox, history_event, audit_event, idempotency_key; of one that failed incident, dead_letter. Locks: workflow_instance.
create or replace function bpm.send_again(
  p_command_id uuid, p_reason text, p_idempotency_key text default null, p_actor text default null, p_tenant_id text default '')
returns table (command_id uuid, again_of uuid, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_id    uuid := bpm_core.new_id();
  v_first uuid;
  r_old   bpm_core.outbox;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_why(p_reason);
  select o.* into r_old from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.command_id = p_command_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no command %s.', p_command_id), jsonb_build_object('command_id', p_command_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[r_old.workflow_instance_id]);
  v_first := bpm_core.first_sending_again(p_tenant_id, p_command_id, p_reason, p_idempotency_key, v_id);
  if v_first <> v_id then
    return query select v_first, p_command_id, false;
    return;
  end if;
  select o.* into r_old from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.command_id = p_command_id;
  if r_old.state not in ('Sent', 'Failed') then
    perform bpm_core.fail('BP409', format('Command %s is %s; only one that is Sent or Failed can be sent again.', p_command_id, r_old.state),
      jsonb_build_object('command_id', p_command_id, 'state', r_old.state),
      case when r_old.state in ('Unknown', 'Reconciling', 'Manual') then 'Say what became of it with bpm.reconcile_command first.' end);
  end if;
  perform bpm_core.write_again(r_old, v_id, v_actor, p_reason);
  return query select v_id, p_command_id, true;
end
$$;

-- Writes the command that repeats another. The instance is locked. Where that one failed, its incident and its dead letter are done with.
-- Raises:   BP422 the destination is gone.
-- Writes:   outbox, incident, dead_letter, history_event, audit_event.
create or replace function bpm_core.write_again(p_old bpm_core.outbox, p_command_id uuid, p_actor text, p_reason text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  insert into bpm_core.outbox (
    tenant_id, id, command_id, workflow_instance_id, token_id, node_id, task_type, destination_id, destination_code, destination_snapshot,
    payload, payload_hash, available_at, max_attempts, sequence_key, again_of, created_at)
  select p_old.tenant_id, bpm_core.new_id(), p_command_id, p_old.workflow_instance_id, p_old.token_id, p_old.node_id, p_old.task_type, d.id, d.code,
         bpm_core.destination_profile(d), p_old.payload, p_old.payload_hash, v_now, d.max_attempts,
         case when d.ordered then coalesce(p_old.sequence_key, bpm_core.command_sequence(p_old.tenant_id, p_old.workflow_instance_id)) end,
         p_old.command_id, v_now
    from bpm_core.destination d
   where d.tenant_id = p_old.tenant_id and d.code = p_old.destination_code;
  if not found then
    perform bpm_core.fail('BP422', format('There is no destination %s any more.', p_old.destination_code));
  end if;
  perform bpm_core.close_failed_command(p_old, p_actor, v_now);
  perform bpm_core.wake_sleepers('commands', p_old.tenant_id);
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, to_state, actor, detail)
  values (p_old.tenant_id, p_old.workflow_instance_id, v_now, 'CommandWritten', p_old.node_id, 'Pending', p_actor,
          jsonb_build_object('command', p_command_id, 'destination', p_old.destination_code, 'again_of', p_old.command_id));
  perform bpm_core.write_audit(p_old.tenant_id, p_actor, 'SendAgain', 'command', p_command_id::text, null, p_reason,
    jsonb_build_object('again_of', p_old.command_id, 'was', p_old.state));
end
$$;

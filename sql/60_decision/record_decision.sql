-- Under the lock: writes the decision of a pending approval. Its effect is still to come.
-- Writes:   approval_record, history_event, audit_event.
create or replace function bpm_core.record_decision(p_approval bpm_core.approval_record, p_status bpm_core.approval_status, p_actor text, p_note text, p_vote text)
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
  update bpm_core.approval_record a
     set status = p_status, decided_by = p_actor, decided_at = v_now, note = p_note, claimed_by = '{}'
   where a.tenant_id = p_approval.tenant_id and a.id = p_approval.id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  values (p_approval.tenant_id, p_approval.workflow_instance_id, v_now, 'ApprovalDecided', p_approval.token_id, p_approval.node_id,
          'Pending', p_status::text, p_actor, jsonb_strip_nulls(jsonb_build_object('approval', p_approval.id, 'vote', p_vote, 'note', p_note, 'groups', bpm_core.vote_groups(p_approval, p_actor))));
  perform bpm_core.emit_events(p_approval.tenant_id, 'ApprovalDecided', array[p_approval.workflow_instance_id], array[
    jsonb_build_object('approval', p_approval.id, 'node', p_approval.node_id, 'decision', p_status, 'actor', p_actor)]);
  perform bpm_core.write_audit(p_approval.tenant_id, p_actor, 'DecideApproval', 'approval', p_approval.id::text, null, p_note,
    jsonb_build_object('decision', p_status, 'workflow_instance_id', p_approval.workflow_instance_id, 'node_id', p_approval.node_id,
                       'task_type', p_approval.task_type));
end
$$;

-- Under the lock: writes somebody's vote and, when it is the one that decides, the decision. The effect is still to come. Who votes is no longer at it.
-- Where nobody is left for the votes that are missing, the step stops with an incident.
-- Raises:   BP422 evidence is not there or was purged.
-- Writes:   approval_vote, evidence, history_event, audit_event; approval_record when it decides; what stop_starved writes.
create or replace function bpm_core.cast_vote(p_approval bpm_core.approval_record, p_decision text, p_actor text, p_note text, p_evidence jsonb, p_groups text[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_vote     text := case p_decision when 'Approved' then 'Approve' else 'Reject' end;
  v_evidence uuid[] := '{}'::uuid[];
  r_outcome  record;
begin
  if p_evidence is not null then
    v_evidence := bpm_core.store_evidence(p_approval.tenant_id, p_evidence, p_actor);
    if array_position(v_evidence, null) is not null then
      perform bpm_core.fail('BP422', 'Evidence is not there, or was purged.', jsonb_build_object('evidence', array_position(v_evidence, null)));
    end if;
  end if;
  insert into bpm_core.approval_vote (tenant_id, approval_id, actor, vote, note, at, evidence_ids, groups)
  values (p_approval.tenant_id, p_approval.id, p_actor, v_vote, p_note, bpm_core.now(), v_evidence,
          array(select g from unnest(p_approval.approver_groups) g where g = any (p_groups)));
  select o.status, o.starved into r_outcome from bpm_core.vote_outcome(p_approval) o;
  if r_outcome.status is not null then
    perform bpm_core.record_decision(p_approval, r_outcome.status, p_actor, p_note, v_vote);
    return;
  end if;
  if p_actor = any (p_approval.claimed_by) then
    update bpm_core.approval_record a
       set claimed_by = array_remove(a.claimed_by, p_actor)
     where a.tenant_id = p_approval.tenant_id and a.id = p_approval.id;
  end if;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_approval.tenant_id, p_approval.workflow_instance_id, bpm_core.now(), 'ApprovalVoted', p_approval.token_id, p_approval.node_id, p_actor,
          jsonb_strip_nulls(jsonb_build_object('approval', p_approval.id, 'vote', v_vote, 'note', p_note, 'groups', bpm_core.vote_groups(p_approval, p_actor))));
  perform bpm_core.write_audit(p_approval.tenant_id, p_actor, 'VoteOnApproval', 'approval', p_approval.id::text, null, p_note,
    jsonb_build_object('vote', v_vote, 'workflow_instance_id', p_approval.workflow_instance_id, 'node_id', p_approval.node_id, 'task_type', p_approval.task_type));
  if r_outcome.starved then
    perform bpm_core.stop_starved(p_approval.tenant_id, array[p_approval.id]);
  end if;
end
$$;

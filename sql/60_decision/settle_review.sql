-- Under the lock of its instance: writes the decision of a review and lets it take effect; or supersedes it, when what its facts speak of has moved.
-- Raises:   BP409 evidence was purged, or facts expect another version.
-- Writes:   review, history_event, audit_event, and what the effect writes. Locks: subject.
create or replace function bpm_core.settle_review(p_review bpm_core.review, p_decision text, p_reason text, p_actor text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_node   text := (select t.node_id from bpm_core.token t where t.tenant_id = p_review.tenant_id and t.id = p_review.token_id);
  v_answer bpm_core.answer := row(1, p_review.task_instance_id, null::bigint, p_review.variables, null::jsonb, p_review.content_hash, p_review.record, null::bpm.outcome);
begin
  if p_review.record is not null then
    perform bpm_core.lock_subjects(p_review.tenant_id, bpm_core.told_facts(array[v_answer]), v_now);
    if bpm_core.reviewed_version(p_review.tenant_id, p_review.record) <> p_review.expected_version then
      perform bpm_core.supersede_review(p_review, v_node);
      return;
    end if;
    if p_decision = 'Approve' and cardinality(bpm_core.refused_records(p_review.tenant_id, array[v_answer], v_now)) > 0 then
      perform bpm_core.fail('BP409', bpm_core.record_trouble(p_review.tenant_id, p_review.task_instance_id, p_review.record),
        jsonb_build_object('review_id', p_review.id), 'Return it.');
    end if;
  end if;
  update bpm_core.review r
     set state = 'Decided', decision = p_decision, actor = p_actor, reason = p_reason, decided_at = v_now
   where r.tenant_id = p_review.tenant_id and r.id = p_review.id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  values (p_review.tenant_id, p_review.workflow_instance_id, v_now, 'ReviewDecided', p_review.token_id, v_node, 'Open', p_decision, p_actor,
          jsonb_strip_nulls(jsonb_build_object('review', p_review.id, 'task', p_review.task_instance_id, 'attempt', p_review.attempt, 'note', p_reason)));
  perform bpm_core.write_audit(p_review.tenant_id, p_actor, 'DecideReview', 'review', p_review.id::text, p_review.expected_version, p_reason,
    jsonb_build_object('decision', p_decision, 'content_hash', encode(p_review.content_hash, 'hex'), 'task', p_review.task_instance_id, 'attempt', p_review.attempt));
  case p_decision
    when 'Approve' then
      perform bpm_core.keep_reviewed(p_review, p_actor, v_now);
      perform bpm_core.apply_answers(p_review.tenant_id, array[
        row(p_review.tenant_id, p_review.id, 'WorkflowInstance', p_review.workflow_instance_id, 'Answer',
            jsonb_build_object('answers', jsonb_build_array(jsonb_build_object('task', p_review.task_instance_id, 'token', p_review.token_id,
                                                                             'variables', p_review.variables))), v_now, 0, null)::bpm_core.inbox]);
    when 'Reject' then
      perform bpm_core.refuse_result(p_review, p_reason);
    else
      perform bpm_core.return_task(p_review);
  end case;
end
$$;

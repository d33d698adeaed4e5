-- What the facts of a review speak of has moved: it is superseded by another of the same result, at the version of now.
-- Writes:   review, history_event; event_outbox where somebody is subscribed.
create or replace function bpm_core.supersede_review(p_review bpm_core.review, p_node_id text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_next uuid := bpm_core.new_id();
begin
  -- The new one comes first, in a state that makes no second standing one; then they change places.
  insert into bpm_core.review (tenant_id, id, workflow_instance_id, token_id, task_instance_id, attempt, content_hash, expected_version, variables, record, state, created_at)
  values (p_review.tenant_id, v_next, p_review.workflow_instance_id, p_review.token_id, p_review.task_instance_id, p_review.attempt, p_review.content_hash,
          bpm_core.reviewed_version(p_review.tenant_id, p_review.record), p_review.variables, p_review.record, 'Closed', bpm_core.now());
  update bpm_core.review r set state = 'Superseded', superseded_by = v_next where r.tenant_id = p_review.tenant_id and r.id = p_review.id;
  update bpm_core.review r set state = 'Open' where r.tenant_id = p_review.tenant_id and r.id = v_next;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  values (p_review.tenant_id, p_review.workflow_instance_id, bpm_core.now(), 'ReviewSuperseded', p_review.token_id, p_node_id, 'Open', 'Superseded',
          jsonb_build_object('review', p_review.id, 'by', v_next));
  perform bpm_core.emit_reviews(p_review.tenant_id, array[v_next]);
end
$$;

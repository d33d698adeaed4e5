-- Decides about a result that waits: Approve, and it counts, with its facts and evidence; Reject, and the step leaves by the BPMN error ReviewRejected;
-- Return, and the step is offered again. It decides only the version it expects: when what the facts speak of has moved since, nothing is decided; the
-- review is superseded by another, which the answer names. p_content_hash: of the result that was looked at, as list_reviews gives it; null: not compared.
-- Returns:  one row: review_id, state (Decided, or Superseded), decision, decided_by, decided_at (of the first decision), superseded_by, instance_status.
-- Raises:   BP403 not granted, or the actor gave the result or is excluded; BP404; BP409 decided otherwise before, superseded or closed, another version
--           or content expected (detail: its own, and the review that is open there now), or its evidence was purged or its facts expect another version; BP422 decision, reason or hash out of range; BP423 suspended.
--           55P03, 40P01: repeat the call.
-- Writes:   review, history_event, audit_event; subject, fact, evidence, result_evidence, task_instance, and what the effect writes.
-- Locks:    workflow_instance, then subject.
-- Source:   runtime design, transaction cookbook, "Review".
create or replace function bpm.decide_review(
  p_review_id uuid, p_expected_version integer, p_decision text, p_reason text default null, p_actor text default null,
  p_content_hash text default null, p_tenant_id text default '')
returns table (review_id uuid, state text, decision text, decided_by text, decided_at timestamptz, superseded_by uuid, instance_status text)
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
  r_review   bpm_core.review;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if p_decision is null or p_decision not in ('Approve', 'Reject', 'Return') then
    perform bpm_core.fail('BP422', format('%s is no decision.', coalesce(quote_literal(p_decision), 'null')), jsonb_build_object('decision', p_decision),
      'Decide Approve, Reject or Return.');
  elsif length(p_reason) > 4000 or p_decision <> 'Approve' and coalesce(btrim(p_reason), '') = '' then
    perform bpm_core.fail('BP422', 'Reject and Return take a reason, of at most 4000 characters.', jsonb_build_object('length', length(p_reason)));
  elsif p_content_hash !~ '^[0-9a-f]{64}$' then
    perform bpm_core.fail('BP422', 'A content hash has 64 digits, 0 to 9 and a to f.', jsonb_build_object('content_hash', left(p_content_hash, 100)),
      'Pass content_hash as bpm.list_reviews gives it.');
  end if;
  v_instance := (select r.workflow_instance_id from bpm_core.review r where r.tenant_id = p_tenant_id and r.id = p_review_id);
  if v_instance is null then
    perform bpm_core.fail('BP404', format('There is no review %s.', p_review_id), jsonb_build_object('review_id', p_review_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[v_instance]);
  select r.* into r_review from bpm_core.review r where r.tenant_id = p_tenant_id and r.id = p_review_id;
  if bpm_core.check_reviewable(r_review, p_decision, p_expected_version, p_content_hash, v_actor) then
    perform bpm_core.settle_review(r_review, p_decision, p_reason, v_actor);
  end if;
  return query
  select r.id, r.state::text, r.decision, r.actor, r.decided_at, r.superseded_by, w.status::text
    from bpm_core.review r
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id offset 0) w
   where r.tenant_id = p_tenant_id and r.id = p_review_id;
end
$$;

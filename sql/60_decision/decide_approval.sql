-- Decides an approval, once, and lets the decision take effect in the same transaction. Where it takes several people each casts one vote,
-- and the vote that makes them enough decides. p_evidence: what the decision rests on, as attach_evidence takes it. p_groups: the groups the actor is in,
-- as the caller knows; whoever may say who acts may say that, too. That somebody else has claimed it (claim_approval) keeps nobody from deciding.
-- The same decision again gets the first outcome, and drives its effect if that is still pending.
-- Returns:  one row: approval_id, status, effect, decided_by and decided_at of the first decision, instance_status (workflow),
--           approvals and rejections: the votes cast so far.
-- Raises:   BP403 not granted, or the actor is excluded or not asked. BP404 no such approval. BP409 decided or voted otherwise before, closed, or too late (detail: the first outcome).
--           BP422 decision neither Approved nor Rejected, note over 4,000 characters, evidence or groups refused. 55P03, 40P01: repeat the call.
-- Writes:   approval_record, approval_vote, evidence, history_event, audit_event, and what the effect writes.
-- Locks:    workflow_instance.
-- Source:   kernel design, 2.3; runtime design, transaction cookbook, "Review".
create or replace function bpm.decide_approval(
  p_approval_id uuid, p_decision text, p_note text default null, p_actor text default null, p_evidence jsonb default null,
  p_groups text[] default '{}', p_tenant_id text default '')
returns table (approval_id uuid, status text, effect text, decided_by text, decided_at timestamptz, instance_status text, approvals integer, rejections integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  r_approval bpm_core.approval_record;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_decision(p_decision, p_note, p_evidence);
  perform bpm_core.check_groups(p_groups);
  r_approval := bpm_core.lock_approval(p_tenant_id, p_approval_id);
  if bpm_core.check_decidable(r_approval, p_decision, v_actor, p_groups) then
    perform bpm_core.cast_vote(r_approval, p_decision, v_actor, p_note, p_evidence, p_groups);
  end if;
  perform bpm_core.apply_decisions(p_tenant_id, array[p_approval_id]);
  return query
  select a.id, a.status::text, a.effect::text, a.decided_by, a.decided_at, w.status::text, v.approvals, v.rejections
    from bpm_core.approval_record a
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id offset 0) w
   cross join lateral (select count(*) filter (where v.vote = 'Approve')::integer as approvals, count(*) filter (where v.vote = 'Reject')::integer as rejections
                         from bpm_core.approval_vote v where v.tenant_id = a.tenant_id and v.approval_id = a.id offset 0) v
   where a.tenant_id = p_tenant_id and a.id = p_approval_id;
end
$$;

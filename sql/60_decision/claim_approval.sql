-- Somebody says that they are at a decision, so that others leave it to them; as many may as it still takes. It is a courtesy and no lock: everybody else
-- still sees it in their list, with who is at it, and may decide. It ends with the vote, and when it is decided otherwise or closed.
-- p_groups: the groups the actor is in, as the caller knows.
-- Returns:  one row: approval_id, outcome Done (also for one's own again), claimed_by.
-- Raises:   BP403 not granted, or the actor is excluded or not asked. BP404 no such approval. BP409 enough others are at it (detail: who), the actor has voted,
--           it is decided or closed, or the time is over. BP422 groups refused. 55P03: repeat the call.
-- Writes:   approval_record, audit_event. Locks: workflow_instance: whoever keeps it must not keep a tick waiting that means to close the approval.
create or replace function bpm.claim_approval(p_approval_id uuid, p_actor text default null, p_groups text[] default '{}', p_tenant_id text default '')
returns table (approval_id uuid, outcome bpm.outcome, claimed_by text[])
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  v_votes    integer;
  r_approval bpm_core.approval_record;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_groups(p_groups);
  r_approval := bpm_core.lock_approval(p_tenant_id, p_approval_id);
  perform bpm_core.check_pending(r_approval);
  if bpm_core.has_voted_on(r_approval, v_actor) then
    perform bpm_core.fail('BP409', format('%s voted on approval %s before.', v_actor, p_approval_id), bpm_core.first_outcome(r_approval), 'A vote is cast once.');
  end if;
  perform bpm_core.check_asked(r_approval, v_actor, p_groups);
  if v_actor <> all (r_approval.claimed_by) then
    v_votes := (select count(*)::integer from bpm_core.approval_vote v
                 where v.tenant_id = p_tenant_id and v.approval_id = p_approval_id and v.vote = 'Approve');
    if cardinality(r_approval.claimed_by) >= r_approval.required_approvals - v_votes then
      perform bpm_core.fail('BP409', format('Approval %s is claimed by %s.', p_approval_id, array_to_string(r_approval.claimed_by, ', ')),
        jsonb_build_object('approval_id', p_approval_id, 'claimed_by', r_approval.claimed_by), 'Leave it to them, or decide all the same.');
    end if;
    update bpm_core.approval_record a
       set claimed_by = a.claimed_by || v_actor
     where a.tenant_id = p_tenant_id and a.id = p_approval_id
    returning a.* into r_approval;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ClaimApproval', 'approval', p_approval_id::text);
  end if;
  return query select p_approval_id, 'Done'::bpm.outcome, r_approval.claimed_by;
end
$$;

-- Somebody is no longer at a decision. p_person: that somebody else is no longer at it, who is away for instance; that takes a reason.
-- Returns:  one row: approval_id, outcome Done (also when they were not at it), claimed_by: who still is.
-- Raises:   BP403, BP404, BP409 it is decided or closed, BP422 no reason, or one of over 4,000 characters. 55P03: repeat the call.
-- Writes:   approval_record, audit_event. Locks: workflow_instance.
create or replace function bpm.unclaim_approval(
  p_approval_id uuid, p_actor text default null, p_person text default null, p_reason text default null, p_tenant_id text default '')
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
  v_person   text;
  r_approval bpm_core.approval_record;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  v_person := coalesce(p_person, v_actor);
  if length(p_reason) > 4000 or v_person <> v_actor and coalesce(btrim(p_reason), '') = '' then
    perform bpm_core.fail('BP422', 'To take somebody else off takes a reason, of at most 4000 characters.', jsonb_build_object('length', length(p_reason)));
  end if;
  r_approval := bpm_core.lock_approval(p_tenant_id, p_approval_id);
  perform bpm_core.check_pending(r_approval);
  if v_person = any (r_approval.claimed_by) then
    update bpm_core.approval_record a
       set claimed_by = array_remove(a.claimed_by, v_person)
     where a.tenant_id = p_tenant_id and a.id = p_approval_id
    returning a.* into r_approval;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'UnclaimApproval', 'approval', p_approval_id::text, null, p_reason, jsonb_build_object('person', v_person));
  end if;
  return query select p_approval_id, 'Done'::bpm.outcome, r_approval.claimed_by;
end
$$;

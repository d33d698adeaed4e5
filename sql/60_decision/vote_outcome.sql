-- What the votes cast so far decide.
-- Returns:  Approved, Rejected, or null: nothing yet. starved: more have to approve, and too few are left who may.
create or replace function bpm_core.vote_outcome(p_approval bpm_core.approval_record, out status bpm_core.approval_status, out starved boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_for     integer;
  v_against integer;
  v_left    integer := bpm_core.approvers_left(p_approval);
begin
  select count(*) filter (where v.vote = 'Approve')::integer, count(*) filter (where v.vote = 'Reject')::integer into v_for, v_against
    from bpm_core.approval_vote v
   where v.tenant_id = p_approval.tenant_id and v.approval_id = p_approval.id;
  starved := coalesce(v_for + v_left < p_approval.required_approvals, false);
  status := (case
    when v_for >= p_approval.required_approvals then 'Approved'
    when v_against > 0 and (p_approval.veto or starved or v_left is null and v_against >= p_approval.required_approvals) then 'Rejected' end)::bpm_core.approval_status;
  starved := starved and status is null;
end
$$;

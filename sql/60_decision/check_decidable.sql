-- Under the lock: may this be decided so by this actor, or was it?
-- Returns:  boolean: their vote is to be cast. False: it was, or the decision stands already.
-- Raises:   BP403 the actor is excluded or not asked. BP409 closed, decided or voted otherwise, or the time to decide is over; the detail is the first outcome.
create or replace function bpm_core.check_decidable(p_approval bpm_core.approval_record, p_decision text, p_actor text, p_groups text[])
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_first jsonb := bpm_core.first_outcome(p_approval);
  v_vote  text := (select v.vote from bpm_core.approval_vote v
                    where v.tenant_id = p_approval.tenant_id and v.approval_id = p_approval.id and v.actor = p_actor);
begin
  if p_approval.status::text = p_decision then
    return false;
  end if;
  perform bpm_core.check_pending(p_approval);
  if v_vote is not null and v_vote <> (case p_decision when 'Approved' then 'Approve' else 'Reject' end) then
    perform bpm_core.fail('BP409', format('%s voted %s on approval %s before.', p_actor, v_vote, p_approval.id), v_first || jsonb_build_object('vote', v_vote),
      'A vote is cast once.');
  elsif v_vote is not null then
    return false;
  end if;
  perform bpm_core.check_asked(p_approval, p_actor, p_groups);
  return true;
end
$$;

-- Under the lock: may this be decided so by this actor, or was it?
-- Returns:  boolean: their vote is to be cast. False: it was, or the decision stands already.
-- Raises:   BP403 the actor is excluded or not asked. BP409 closed, decided or voted otherwise, or the time to decide is over; the detail is the first outcome.
create or replace function bpm_core.check_decidable(p_approval bpm_core.approval_record, p_decision text, p_actor text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_first jsonb := jsonb_build_object('approval_id', p_approval.id, 'status', p_approval.status, 'effect', p_approval.effect,
                                      'decided_by', p_approval.decided_by, 'decided_at', p_approval.decided_at, 'note', p_approval.note);
  v_vote  text := (select v.vote from bpm_core.approval_vote v
                    where v.tenant_id = p_approval.tenant_id and v.approval_id = p_approval.id and v.actor = p_actor);
  v_bar   text;
begin
  if p_approval.status = 'Cancelled' then
    perform bpm_core.fail('BP409', format('Approval %s is closed: its step was left or its instance ended.', p_approval.id), v_first);
  elsif p_approval.status::text = p_decision then
    return false;
  elsif p_approval.status <> 'Pending' then
    perform bpm_core.fail('BP409', format('Approval %s was %s by %s before.', p_approval.id, lower(p_approval.status::text), p_approval.decided_by),
      v_first, 'A decision is taken once.');
  elsif v_vote is not null and v_vote <> (case p_decision when 'Approved' then 'Approve' else 'Reject' end) then
    perform bpm_core.fail('BP409', format('%s voted %s on approval %s before.', p_actor, v_vote, p_approval.id), v_first || jsonb_build_object('vote', v_vote),
      'A vote is cast once.');
  elsif v_vote is not null then
    return false;
  elsif p_approval.expires_at <= bpm_core.now() then
    perform bpm_core.fail('BP409', format('The time to decide approval %s is over.', p_approval.id), v_first || jsonb_build_object('expires_at', p_approval.expires_at));
  end if;
  v_bar := bpm_core.approval_bar(p_approval, p_actor);
  if v_bar is not null then
    perform bpm_core.fail('BP403', format('%s may not decide approval %s.', p_actor, p_approval.id),
      jsonb_build_object('approval_id', p_approval.id, 'actor', p_actor, 'reason', v_bar),
      case v_bar when 'NotAsked' then 'It names those who may.' else 'Let somebody decide who had no part in it.' end);
  end if;
  return true;
end
$$;

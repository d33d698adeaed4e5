-- Under the lock: may this be decided so by this actor, or was it?
-- Raises:   BP403 the actor is excluded. BP409 closed, or decided otherwise; the detail is the first outcome.
create or replace function bpm_core.check_decidable(p_approval bpm_core.approval_record, p_decision text, p_actor text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first jsonb := jsonb_build_object('approval_id', p_approval.id, 'status', p_approval.status, 'effect', p_approval.effect,
                                      'decided_by', p_approval.decided_by, 'decided_at', p_approval.decided_at, 'note', p_approval.note);
begin
  if p_approval.status = 'Cancelled' then
    perform bpm_core.fail('BP409', format('Approval %s is closed: its step was left or its instance ended.', p_approval.id), v_first);
  elsif p_approval.status = 'Pending' then
    if p_actor = any (p_approval.excluded_actors) then
      perform bpm_core.fail('BP403', format('%s may not decide approval %s.', p_actor, p_approval.id),
        jsonb_build_object('approval_id', p_approval.id, 'actor', p_actor), 'Let somebody decide who had no part in it.');
    end if;
  elsif p_approval.status::text <> p_decision then
    perform bpm_core.fail('BP409', format('Approval %s was %s by %s before.', p_approval.id, lower(p_approval.status::text), p_approval.decided_by),
      v_first, 'A decision is taken once.');
  end if;
end
$$;

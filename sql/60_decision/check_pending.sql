-- Under the lock: is this approval still asked for?
-- Raises:   BP409 closed or decided; the detail is the first outcome.
create or replace function bpm_core.check_pending(p_approval bpm_core.approval_record)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_approval.status = 'Cancelled' then
    perform bpm_core.fail('BP409', format('Approval %s is closed: its step was left or its instance ended.', p_approval.id), bpm_core.first_outcome(p_approval));
  elsif p_approval.status <> 'Pending' then
    perform bpm_core.fail('BP409', format('Approval %s was %s by %s before.', p_approval.id, lower(p_approval.status::text), p_approval.decided_by),
      bpm_core.first_outcome(p_approval), 'A decision is taken once.');
  end if;
end
$$;

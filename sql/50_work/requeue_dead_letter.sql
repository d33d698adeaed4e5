-- Gives the work of a dead letter fresh attempts, on the same token, or what came in from outside another try, an event fresh attempts; the same as resolving its incident.
-- Returns:  one row: dead_letter_id, outcome Done (also when it was requeued before).
-- Raises:   BP403, BP404, BP409 it was discarded, comes from a rejected approval or a command, or its instance ended; BP422 attempts.
-- Writes:   as resolve_incident; of an event as requeue_event.
create or replace function bpm.requeue_dead_letter(p_dead_letter_id uuid, p_attempts integer default 1, p_actor text default null, p_tenant_id text default '')
returns table (dead_letter_id uuid, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_letter bpm_core.dead_letter;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  select d.* into r_letter from bpm_core.dead_letter d where d.tenant_id = p_tenant_id and d.id = p_dead_letter_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no dead letter %s.', p_dead_letter_id));
  elsif r_letter.kind = 'Approval' then
    perform bpm_core.fail('BP409', 'The work was refused by an approver; it cannot be requeued.', null, 'Start the process again if it is to be decided anew.');
  elsif r_letter.kind = 'Command' then
    perform bpm_core.fail('BP409', 'A command is not requeued.', null, 'bpm.send_again sends it as a new command, and closes the dead letter.');
  elsif r_letter.state = 'Discarded' then
    perform bpm_core.fail('BP409', format('The dead letter was discarded by %s.', r_letter.closed_by));
  end if;
  if r_letter.kind = 'Event' then
    if p_attempts is null or p_attempts not between 1 and 1000 then
      perform bpm_core.fail('BP422', 'Attempts must be 1 to 1000.', jsonb_build_object('attempts', p_attempts));
    end if;
    perform bpm_core.requeue_event(r_letter, bpm_core.acting_as(p_tenant_id, p_actor));
    return query select p_dead_letter_id, 'Done'::bpm.outcome;
    return;
  end if;
  perform bpm.resolve_incident(r_letter.incident_id, p_attempts, p_actor, p_tenant_id);
  return query select p_dead_letter_id, 'Done'::bpm.outcome;
end
$$;

-- Closes a dead letter without doing its work again. The incident stays open: the token still stands there. An event is ignored so.
-- Returns:  one row: dead_letter_id, outcome Done (also when it was discarded before).
-- Raises:   BP403, BP404, BP409 it was requeued, BP422 reason too long.
-- Writes:   dead_letter, audit_event; event, routing_decision. Locks: event, then dead_letter.
create or replace function bpm.discard_dead_letter(p_dead_letter_id uuid, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (dead_letter_id uuid, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_state bpm_core.dead_letter_state;
  v_event uuid;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if length(p_reason) > 4000 then
    perform bpm_core.fail('BP422', format('The reason has %s characters; at most 4000.', length(p_reason)), jsonb_build_object('length', length(p_reason)));
  end if;
  select d.event_id into v_event from bpm_core.dead_letter d where d.tenant_id = p_tenant_id and d.id = p_dead_letter_id;
  if v_event is not null then
    perform from bpm_core.event e where e.tenant_id = p_tenant_id and e.id = v_event for no key update;
  end if;
  select d.state into v_state from bpm_core.dead_letter d where d.tenant_id = p_tenant_id and d.id = p_dead_letter_id for no key update;
  if not found then
    perform bpm_core.fail('BP404', format('There is no dead letter %s.', p_dead_letter_id));
  elsif v_state = 'Requeued' then
    perform bpm_core.fail('BP409', 'The dead letter was requeued.');
  elsif v_state = 'Open' then
    update bpm_core.dead_letter d
       set state = 'Discarded', closed_by = v_actor, closed_at = bpm_core.now()
     where d.tenant_id = p_tenant_id and d.id = p_dead_letter_id;
    if v_event is not null then
      perform bpm_core.ignore_failed_event(p_tenant_id, v_event, v_actor, p_reason);
    end if;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'DiscardDeadLetter', 'dead_letter', p_dead_letter_id::text, null, p_reason);
  end if;
  return query select p_dead_letter_id, 'Done'::bpm.outcome;
end
$$;

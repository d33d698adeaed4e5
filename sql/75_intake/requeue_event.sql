-- Gives an event that failed fresh attempts; the next tick looks at it. Its row is locked before its letter, as everywhere.
-- Raises:   BP409 the letter was discarded. Writes: event, dead_letter, audit_event.
create or replace function bpm_core.requeue_event(p_letter bpm_core.dead_letter, p_actor text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   constant timestamptz := bpm_core.now();
  v_state bpm_core.dead_letter_state;
begin
  perform from bpm_core.event e where e.tenant_id = p_letter.tenant_id and e.id = p_letter.event_id for no key update;
  select d.state into v_state from bpm_core.dead_letter d where d.tenant_id = p_letter.tenant_id and d.id = p_letter.id for no key update;
  if v_state = 'Discarded' then
    perform bpm_core.fail('BP409', 'The dead letter was discarded.');
  elsif v_state = 'Requeued' then
    return;
  end if;
  update bpm_core.event e
     set dispatch_state = 'Pending', attempts = 0, reason = null, detail = null, available_at = v_now
   where e.tenant_id = p_letter.tenant_id and e.id = p_letter.event_id;
  update bpm_core.dead_letter d
     set state = 'Requeued', closed_by = p_actor, closed_at = v_now
   where d.tenant_id = p_letter.tenant_id and d.id = p_letter.id;
  perform bpm_core.write_audit(p_letter.tenant_id, p_actor, 'RequeueEvent', 'event', p_letter.event_id::text, null, null, jsonb_build_object('dead_letter', p_letter.id));
  perform bpm_core.wake_sleepers('tick', p_letter.tenant_id);
end
$$;

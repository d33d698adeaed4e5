-- Puts an event whose dispatch raised back with a growing delay; the fifth time it is buried: Failed, with a dead letter. Its thread goes on without it.
-- Writes:   event, dead_letter.
create or replace function bpm_core.put_back_event(p_tenant_id text, p_event bpm_core.event, p_error text, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_buried constant boolean := p_event.attempts + 1 >= 5;
begin
  update bpm_core.event e
     set attempts = e.attempts + 1, reason = 'Error', detail = jsonb_build_object('error', p_error), rules_version = null,
         dispatch_state = case when v_buried then 'Failed' else 'Pending' end::bpm_core.event_state,
         available_at = p_now + interval '2 seconds' * power(4, p_event.attempts)
   where e.tenant_id = p_tenant_id and e.id = p_event.id;
  if v_buried then
    insert into bpm_core.dead_letter (tenant_id, id, event_id, kind, error, payload, created_at)
    values (p_tenant_id, bpm_core.new_id(), p_event.id, 'Event', to_jsonb(p_error), p_event.payload, p_now);
    perform bpm_core.wake_threads(p_tenant_id, array[row(p_event, null, null, null, null, null, null)::bpm_core.event_plan], p_now);
  end if;
end
$$;

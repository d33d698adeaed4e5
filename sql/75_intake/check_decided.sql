-- Was this decided of an event that is decided already?
-- Raises:   BP409 something else was.
create or replace function bpm_core.check_decided(p_event bpm_core.event, p_actions jsonb)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_decision bpm_core.routing_decision;
begin
  select d.* into r_decision from bpm_core.routing_decision d where d.event_id = p_event.id and d.tenant_id is not distinct from p_event.tenant_id;
  if r_decision.content_hash is distinct from bpm_core.decision_hash(p_actions) then
    perform bpm_core.fail('BP409', format('The event was decided otherwise by %s at %s.', r_decision.decided_by, r_decision.decided_at),
      jsonb_build_object('event_id', p_event.id, 'actions', r_decision.actions, 'decided_by', r_decision.decided_by, 'rules', r_decision.rules),
      'See the view bpm.routing_decision.');
  end if;
end
$$;

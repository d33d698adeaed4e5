-- An event that failed, and whose dead letter is discarded, is decided so: ignored, by whom and why.
-- Writes:   event, routing_decision. Its row is locked.
create or replace function bpm_core.ignore_failed_event(p_tenant_id text, p_event_id uuid, p_actor text, p_reason text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_event bpm_core.event;
begin
  select e.* into v_event from bpm_core.event e where e.tenant_id = p_tenant_id and e.id = p_event_id;
  perform bpm_core.record_decisions(p_tenant_id,
    array[row(v_event, null, null, '[{"action": "Ignore"}]', null, p_actor, coalesce(p_reason, 'dead letter discarded'))::bpm_core.event_plan], '{}', bpm_core.now());
end
$$;

-- Counts failures of a destination (those after its last answer), and opens or closes its breaker. One that a person holds stays as it is.
-- Writes:   destination_gate. Locks: destination_gate.
create or replace function bpm_core.turn_gate(p_tenant_id text, p_destination_id uuid, p_failures integer, p_answered boolean, p_last_error jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_failures integer;
  v_state    bpm_core.breaker_state;
  v_openings integer;
  r_gate     bpm_core.destination_gate;
  r_profile  record;
begin
  insert into bpm_core.destination_gate (tenant_id, destination_id, updated_at) values (p_tenant_id, p_destination_id, v_now) on conflict do nothing;
  select g.* into r_gate from bpm_core.destination_gate g where g.tenant_id = p_tenant_id and g.destination_id = p_destination_id for no key update;
  select d.breaker_threshold, d.breaker_delay into r_profile from bpm_core.destination d where d.tenant_id = p_tenant_id and d.id = p_destination_id;
  v_failures := p_failures + case when p_answered then 0 else r_gate.failures end;
  v_state := (case when r_gate.held_by is not null then 'Open'
                  when r_gate.state = 'Closed' or p_answered
                    then case when v_failures >= r_profile.breaker_threshold then 'Open' else 'Closed' end
                  else 'Open' end)::bpm_core.breaker_state;
  v_openings := case when v_state = 'Closed' then 0 when r_gate.state = v_state then r_gate.openings else r_gate.openings + 1 end;
  update bpm_core.destination_gate g
     set state = v_state, failures = v_failures, openings = v_openings, last_error = coalesce(p_last_error, g.last_error), updated_at = v_now,
         opened_at = case when v_state = 'Open' then coalesce(g.opened_at, v_now) end,
         reason = case when v_state = 'Open' then g.reason end,
         probe_at = case when v_state = 'Closed' or g.held_by is not null then null
                         when g.state = 'Open' then g.probe_at
                         else v_now + least(r_profile.breaker_delay * power(2, least(v_openings - 1, 10)),
                                            greatest(r_profile.breaker_delay, interval '10 minutes')) end
   where g.tenant_id = p_tenant_id and g.destination_id = p_destination_id;
end
$$;

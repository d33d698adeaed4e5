-- Opens the breaker of a destination by hand, so that nothing is sent there until a person closes it again; or closes it, whoever opened it. What is
-- under way ends as it would. The same call again changes nothing.
-- p_state: Open or Closed.
-- Returns:  one row: code, state.
-- Raises:   BP403. BP404 no such destination. BP422 no such state, reason missing or over 4,000 characters.
-- Writes:   destination_gate, audit_event. Locks: destination_gate.
create or replace function bpm.turn_destination(p_code text, p_state text, p_reason text, p_actor text default null, p_tenant_id text default '')
returns table (code text, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_now   timestamptz := bpm_core.now();
  v_id    uuid;
  r_gate  bpm_core.destination_gate;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(p_state not in ('Open', 'Closed'), true) then
    perform bpm_core.fail('BP422', 'A destination is turned Open or Closed.', jsonb_build_object('state', p_state));
  end if;
  perform bpm_core.check_why(p_reason);
  select d.id into v_id from bpm_core.destination d where d.tenant_id = p_tenant_id and d.code = p_code;
  if not found then
    perform bpm_core.fail('BP404', format('There is no destination %s.', p_code), jsonb_build_object('code', p_code));
  end if;
  insert into bpm_core.destination_gate (tenant_id, destination_id, updated_at) values (p_tenant_id, v_id, v_now) on conflict do nothing;
  select g.* into r_gate from bpm_core.destination_gate g where g.tenant_id = p_tenant_id and g.destination_id = v_id for no key update;
  if r_gate.state::text <> p_state or (p_state = 'Open') <> (r_gate.held_by is not null) then
    update bpm_core.destination_gate g
       set state = p_state::bpm_core.breaker_state, failures = 0, openings = (p_state = 'Open')::integer,
           opened_at = case when p_state = 'Open' then v_now end, probe_at = null, held_by = case when p_state = 'Open' then v_actor end,
           reason = p_reason, updated_at = v_now
     where g.tenant_id = p_tenant_id and g.destination_id = v_id;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'TurnDestination', 'destination', p_code, null, p_reason,
      jsonb_build_object('from', r_gate.state, 'state', p_state));
  end if;
  return query select p_code, p_state;
end
$$;

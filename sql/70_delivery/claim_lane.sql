-- Claims commands of one destination, within its bounds. While its breaker is open and it is time to try, one command, by one caller.
-- Returns:  lane_claim.
-- Writes:   outbox, destination_slot, destination_gate. Locks: these, skip locked. Never an instance row.
create or replace function bpm_core.claim_lane(
  p_tenant_id text, p_lane bpm_core.lane, p_worker text, p_from_at timestamptz, p_from_id uuid, p_limit integer, p_lease interval, p_now timestamptz)
returns bpm_core.lane_claim
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_claim bpm_core.lane_claim := row('{}'::bpm_core.claimed_command[], p_limit);
  v_busy  integer[];
  v_rated integer[];
  v_ids   uuid[];
begin
  if p_lane.probing then
    perform
       from bpm_core.destination_gate g
      where g.tenant_id = p_tenant_id and g.destination_id = p_lane.destination_id and g.state <> 'Closed' and g.probe_at <= p_now
        for no key update skip locked;
    v_claim.room := case when found then 1 else 0 end;
  end if;
  if p_lane.max_concurrent is not null and v_claim.room > 0 then
    v_busy := bpm_core.lock_slots(p_tenant_id, p_lane.destination_id, 'Concurrency', p_lane.max_concurrent, v_claim.room, p_now);
    v_claim.room := cardinality(v_busy);
  end if;
  if p_lane.rate_limit is not null and v_claim.room > 0 then
    v_rated := bpm_core.lock_slots(p_tenant_id, p_lane.destination_id, 'Rate', p_lane.rate_limit, v_claim.room, p_now);
    v_claim.room := cardinality(v_rated);
  end if;
  if v_claim.room = 0 then
    return v_claim;
  end if;
  if p_lane.ordered then
    v_ids := bpm_core.pick_ordered_commands(p_tenant_id, p_lane.destination_id, p_from_at, p_from_id, v_claim.room, p_lease, p_now);
  else
    v_ids := bpm_core.pick_commands(p_tenant_id, p_lane.destination_id, p_from_at, p_from_id, v_claim.room, p_lease, p_now);
  end if;
  if cardinality(v_ids) > 0 then
    v_claim.commands := bpm_core.lease_commands(p_tenant_id, v_ids, v_busy, p_worker, p_lease, p_now);
    perform bpm_core.fill_slots(p_tenant_id, p_lane, v_claim.commands, v_busy, v_rated, p_now);
  end if;
  return v_claim;
end
$$;

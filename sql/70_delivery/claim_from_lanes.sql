-- Claims commands, destination by destination, from where the positions stand: one for each, under its code, and under no code where the round
-- goes on. A destination that is full or broken keeps nobody waiting but its own.
-- Returns:  commands, positions.
-- Writes:   as claim_lane.
create or replace function bpm_core.claim_from_lanes(
  p_tenant_id text, p_worker text, p_kinds text[], p_limit integer, p_lease interval, p_positions jsonb, p_now timestamptz,
  out commands bpm_core.claimed_command[], out positions jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_position bpm_core.pick_position;
  v_claim    bpm_core.lane_claim;
  v_count    integer;
  v_reached  uuid;
  r_lane     bpm_core.lane;
  r_scan     record;
begin
  commands := '{}';
  positions := coalesce(nullif(p_positions, 'null'), '{}');
  v_reached := (bpm_core.read_position(positions -> '')).reached_id;
  for r_lane in select l.* from bpm_core.open_lanes(p_tenant_id, p_kinds, v_reached, p_now) l loop
    v_position := bpm_core.read_position(positions -> r_lane.code);
    select s.* into r_scan from bpm_core.pick_start(v_position, p_now) s;
    v_claim := bpm_core.claim_lane(p_tenant_id, r_lane, p_worker, r_scan.from_at, r_scan.from_id, p_limit - cardinality(commands), p_lease, p_now);
    if v_claim.room > 0 then
      v_count := cardinality(v_claim.commands);
      positions := positions || jsonb_build_object(r_lane.code, bpm_core.pick_end(
        v_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_claim.commands[v_count].available_at, v_claim.commands[v_count].outbox_id,
        v_count < v_claim.room, p_now));
      commands := commands || v_claim.commands;
    end if;
    v_reached := r_lane.destination_id;
    exit when cardinality(commands) >= p_limit;
  end loop;
  positions := positions || jsonb_build_object('', jsonb_build_object('reached_id', v_reached));
end
$$;

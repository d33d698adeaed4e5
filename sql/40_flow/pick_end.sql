-- The position after a pick that ends now: position_after, for pickers that have one.
-- Returns:  pick_position.
create or replace function bpm_core.pick_end(
  p_position bpm_core.pick_position, p_look_back boolean, p_settled boolean, p_whole boolean,
  p_last_at timestamptz, p_last_id uuid, p_exhausted boolean, p_began timestamptz,
  p_slack interval default interval '1 second')
returns bpm_core.pick_position
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_ended    timestamptz := bpm_core.now();
  v_position bpm_core.pick_position;
begin
  select e.* into v_position
    from bpm_core.position_after(p_position, p_look_back, p_settled, p_whole, p_last_at, p_last_id, p_exhausted, p_began, v_ended, p_slack) e;
  return v_position;
end
$$;

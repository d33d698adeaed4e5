-- Where does this pick begin? (law 12) From what was reached, or further back: when every writer of before the mark has ended,
-- when a long writer has kept that waiting for a while, and from the very beginning about every 30 seconds.
-- Returns:  from_at, from_id (exclusive), look_back, settled, whole. Call it before the pick, pick_end after it.
create or replace function bpm_core.pick_start(
  p_position bpm_core.pick_position, p_now timestamptz,
  out from_at timestamptz, out from_id uuid, out look_back boolean, out settled boolean, out whole boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A whole scan of the future was under a clock that has since been set back.
  whole := p_position.full_at is null or p_now not between p_position.full_at and p_position.full_at + interval '30 seconds';
  settled := p_position.horizon is null or pg_snapshot_xmin(pg_current_snapshot()) >= p_position.horizon;
  look_back := whole or settled
               or p_now > p_position.checked_at + greatest(interval '1 second', 20 * p_position.check_cost);
  from_id := '00000000-0000-0000-0000-000000000000';
  if whole then
    from_at := '-infinity';
  elsif look_back then
    from_at := coalesce(p_position.safe_at, '-infinity');
  else
    from_at := coalesce(p_position.reached_at, '-infinity');
    from_id := coalesce(p_position.reached_id, from_id);
  end if;
end
$$;

-- The position after a pick. p_last_* is the last row handed out (null: none), p_exhausted that there was no more to hand out. Then what was reached is the
-- clock of the pick but for a second: what died without being handed out (leases given up, timers cancelled) is not walked again. Rows written meanwhile
-- are due at the clock of their writer, so most of those that commit a little later lie within that second; the others are stragglers.
-- The horizon is read here, after the pick: a writer that began before a row we saw commit must still lie below it.
-- Returns:  pick_position.
create or replace function bpm_core.pick_end(
  p_position bpm_core.pick_position, p_look_back boolean, p_settled boolean, p_whole boolean,
  p_last_at timestamptz, p_last_id uuid, p_exhausted boolean, p_began timestamptz)
returns bpm_core.pick_position
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_zero     constant uuid := uuid '00000000-0000-0000-0000-000000000000';
  v_position bpm_core.pick_position := p_position;
  v_seen     constant timestamptz := p_began - interval '1 second';
  v_passed   boolean := coalesce((p_last_at, p_last_id) > (coalesce(p_position.reached_at, '-infinity'), coalesce(p_position.reached_id, v_zero)), false);
  v_now      timestamptz;
begin
  if v_passed then
    v_position.reached_at := p_last_at;
    v_position.reached_id := p_last_id;
  end if;
  if p_exhausted and v_seen > coalesce(v_position.reached_at, '-infinity') then
    v_position.reached_at := v_seen;
    v_position.reached_id := v_zero;
  end if;
  v_position.reached_at := coalesce(v_position.reached_at, '-infinity');
  v_position.reached_id := coalesce(v_position.reached_id, v_zero);
  if not p_look_back then
    return v_position;
  end if;
  v_now := bpm_core.now();
  v_position.checked_at := v_now;
  v_position.check_cost := v_now - p_began;
  -- Past what was reached before there are no stragglers. Waiting for the end of a long queue would walk it from its head with every pick.
  if p_whole and (p_exhausted or v_passed) then
    v_position.full_at := v_now;
  end if;
  if p_settled then
    if p_exhausted or p_position.mark_at is null or p_last_at > p_position.mark_at then
      v_position.safe_at := coalesce(p_position.mark_at, '-infinity') - interval '1 millisecond';
      v_position.mark_at := v_position.reached_at;
      v_position.horizon := pg_snapshot_xmax(pg_current_snapshot());
    else
      -- More stragglers than one batch: look back again at once, the mark stays.
      v_position.checked_at := '-infinity';
    end if;
  end if;
  return v_position;
end
$$;

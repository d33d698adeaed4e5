-- The next point of a cycle's grid after one that fired: strictly after it and, when the clock is already further (downtime), the first
-- one at or after the clock. skipped counts the points passed over; what they mean is the catch-up policy of the caller.
-- Returns:  scheduled_at, skipped.
create or replace function bpm_core.timer_next(
  p_anchor timestamptz, p_step interval, p_scheduled timestamptz, p_now timestamptz, p_zone text default 'UTC', out scheduled_at timestamptz, out skipped bigint)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_next bigint := bpm_core.timer_point(p_anchor, p_step, p_scheduled, p_zone) + 1;
  v_k    bigint := greatest(v_next, bpm_core.timer_point(p_anchor, p_step, p_now, p_zone));
begin
  scheduled_at := bpm_core.timer_at(p_anchor, p_step, v_k, p_zone);
  skipped := v_k - v_next;
end
$$;

-- The number of the first point of a grid at or after a time; negative before the anchor. Steps of months have no fixed length, so the
-- estimate by average length is corrected by walking; it is never off by more than a few steps.
-- Returns:  bigint.
create or replace function bpm_core.timer_point(p_anchor timestamptz, p_step interval, p_after timestamptz, p_zone text default 'UTC')
returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_k bigint := floor(extract(epoch from p_after - p_anchor) / extract(epoch from p_step))::bigint - 1;
begin
  while bpm_core.timer_at(p_anchor, p_step, v_k - 1, p_zone) >= p_after loop
    v_k := v_k - 1;
  end loop;
  while bpm_core.timer_at(p_anchor, p_step, v_k, p_zone) < p_after loop
    v_k := v_k + 1;
  end loop;
  return v_k;
end
$$;

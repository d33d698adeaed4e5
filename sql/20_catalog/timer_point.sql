-- The number of the first point of a grid at or after a time. Steps of months have no fixed length, so the estimate by average
-- length is corrected by walking; it is never off by more than a few steps.
-- Returns:  bigint, 0 or more.
create or replace function bpm_core.timer_point(p_anchor timestamptz, p_step interval, p_after timestamptz)
returns bigint
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_k bigint;
begin
  if p_after <= p_anchor then
    return 0::bigint;
  end if;
  v_k := greatest(floor(extract(epoch from p_after - p_anchor) / extract(epoch from p_step))::bigint - 1, 0);
  while v_k > 0 and bpm_core.timer_at(p_anchor, p_step, v_k - 1) >= p_after loop
    v_k := v_k - 1;
  end loop;
  while bpm_core.timer_at(p_anchor, p_step, v_k) < p_after loop
    v_k := v_k + 1;
  end loop;
  return v_k;
end
$$;

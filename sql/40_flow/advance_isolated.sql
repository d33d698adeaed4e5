-- Moves tokens on from where they stand: follows the flow each takes and drives the arrivals until all rest, end or are parked.
-- The instances are locked and their patches merged. What cannot go on is an incident on its token, never an exception for the caller.
create or replace function bpm_core.advance_isolated(p_leaving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.drive_isolated(bpm_core.follow_flows(p_leaving));
end
$$;

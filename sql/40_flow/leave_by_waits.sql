-- Lets tokens go on whose waits were met.
-- p_met: the waits, as they were consumed. Writes: what leave_waits and the paths ahead write.
create or replace function bpm_core.leave_by_waits(p_met bpm_core.subscription[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.advance_isolated(bpm_core.leave_waits(p_met));
end
$$;

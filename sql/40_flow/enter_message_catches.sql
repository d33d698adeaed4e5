-- KIND message intermediate catch event and receive task: the token rests. drive opens the waits of all hops together at the end, so that
-- the message keys are locked once and sorted.
-- Returns:  moving[], the message waits. Writes: token; timer where a receive task has boundary timers.
create or replace function bpm_core.enter_message_catches(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.rest_tokens(p_arriving);
  return p_arriving || bpm_core.arm_boundaries(p_arriving);
end
$$;

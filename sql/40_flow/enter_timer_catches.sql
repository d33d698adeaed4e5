-- KIND timer intermediate catch event: the token rests until its timer fires.
create or replace function bpm_core.enter_timer_catches(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.rest_tokens(p_arriving);
  perform bpm_core.start_timers(p_arriving);
  return '{}'::bpm_core.moving[];
end
$$;

-- KIND signal intermediate catch event: the token rests. The wait opens at once: signals have no key to be locked, and one thrown later in the
-- same command reaches it.
-- Returns:  moving[], none. Writes: token, subscription, history_event.
create or replace function bpm_core.enter_signal_catches(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.rest_tokens(p_arriving);
  perform bpm_core.open_signal_waits(p_arriving);
  return '{}'::bpm_core.moving[];
end
$$;

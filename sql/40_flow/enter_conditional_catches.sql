-- KIND conditional intermediate catch event: the token rests until its condition is true, which drive asks when nothing moves any more. Its steps go on
-- counting: a loop through conditions that are true is a loop.
-- Returns:  moving[], none. Writes: token, subscription, history_event.
create or replace function bpm_core.enter_conditional_catches(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.host_tokens(p_arriving);
  perform bpm_core.open_condition_waits(p_arriving);
  return '{}'::bpm_core.moving[];
end
$$;

-- KIND embedded sub-process and transaction: the token rests as the host of a new scope, in which a token begins at the start event. Boundary events
-- of the host, and the start events of event sub-processes inside, are armed first: what happens inside at once already finds them.
-- Returns:  moving[]: the message waits, and the tokens that begin inside. Writes: token, scope, workflow_instance (live_tokens), history_event;
--           subscription, timer.
create or replace function bpm_core.enter_sub_processes(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_waits bpm_core.moving[];
begin
  perform bpm_core.host_tokens(p_arriving);
  v_waits := bpm_core.arm_boundaries(p_arriving);
  return v_waits || bpm_core.open_scopes(p_arriving);
end
$$;

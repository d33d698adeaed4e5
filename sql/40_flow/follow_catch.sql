-- Goes on where something thrown was caught: by the boundary event, closing its host first or beside it; or inside an event sub-process.
-- Returns:  moving[], leaving. Writes: what close_waits, bear_tokens or start_event_subs write.
create or replace function bpm_core.follow_catch(p_catch bpm_core.catch)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_host bpm_core.moving := p_catch.host;
  v_from bpm_core.moving := row(v_host.tenant_id, v_host.instance_id, v_host.version_id, v_host.scope_id, v_host.token_id, p_catch.node_id, null, null)::bpm_core.moving;
begin
  if p_catch.is_start then
    return bpm_core.start_event_subs(array[v_from], p_catch.interrupting);
  elsif not p_catch.interrupting then
    return bpm_core.bear_tokens(array[v_from]);
  end if;
  perform bpm_core.close_waits(array[v_host]);
  return array[v_from];
end
$$;

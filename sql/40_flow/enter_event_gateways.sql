-- KIND event-based gateway: the token rests here while every event behind it is waited for, each as if the token stood at it. The first that
-- comes takes the token on from the event (leave_by_waits, leave_by_timers) and closes the others.
-- Returns:  moving[], the message waits: each names the token and the event. Writes: token, subscription, timer, history_event.
create or replace function bpm_core.enter_event_gateways(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.rest_tokens(p_arriving);
  return bpm_core.open_events(array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, f.target_id, a.flow_id, f.target_kind)::bpm_core.moving
      from unnest(p_arriving) a
     cross join lateral (select f.target_id, f.target_kind from bpm_core.workflow_flow f
                          where f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id offset 0) f));
end
$$;

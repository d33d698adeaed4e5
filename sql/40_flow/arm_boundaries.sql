-- Arms the boundary events of the activities these tokens have just entered: opens their signal waits and those for conditions, starts their timers.
-- Returns:  moving[], their message waits: each names the token of the host and the boundary event. drive opens them at the end.
-- Writes:   subscription, timer, history_event.
create or replace function bpm_core.arm_boundaries(p_arriving bpm_core.moving[])
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
  v_waits := array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, n.node_id, a.flow_id, n.kind)::bpm_core.moving
      from unnest(p_arriving) a
     cross join lateral (select n.node_id, n.kind from bpm_core.workflow_node n
                          where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.attached_to = a.node_id offset 0) n);
  return case when v_waits = '{}' then v_waits else bpm_core.open_events(v_waits) end;
end
$$;

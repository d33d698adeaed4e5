-- Starts the boundary timers of the activities these tokens have just entered.
-- Writes:   timer, history_event.
create or replace function bpm_core.arm_boundary_timers(p_arriving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_waits bpm_core.moving[];
begin
  select array_agg(row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, n.node_id, a.flow_id, n.kind)::bpm_core.moving)
    into v_waits
    from unnest(p_arriving) a
   cross join lateral (select n.node_id, n.kind from bpm_core.workflow_node n
                        where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.attached_to = a.node_id offset 0) n
   where n.kind = 'TimerBoundary';
  if v_waits is not null then
    perform bpm_core.start_timers(v_waits);
  end if;
end
$$;

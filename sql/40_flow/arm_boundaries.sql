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
  v_signals    bpm_core.moving[];
  v_timers     bpm_core.moving[];
  v_messages   bpm_core.moving[];
  v_conditions bpm_core.moving[];
begin
  select array_agg(b.wait) filter (where b.kind = 'SignalBoundary'), array_agg(b.wait) filter (where b.kind = 'TimerBoundary'),
         array_agg(b.wait) filter (where b.kind = 'MessageBoundary'), array_agg(b.wait) filter (where b.kind = 'ConditionalBoundary')
    into v_signals, v_timers, v_messages, v_conditions
    from (select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, n.node_id, a.flow_id, n.kind)::bpm_core.moving as wait, n.kind
            from unnest(p_arriving) a
           cross join lateral (select n.node_id, n.kind from bpm_core.workflow_node n
                                where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.attached_to = a.node_id offset 0) n) b;
  -- Timers last: one that gives no time closes what the token offered already.
  if v_signals is not null then
    perform bpm_core.open_signal_waits(v_signals);
  end if;
  if v_conditions is not null then
    perform bpm_core.open_condition_waits(v_conditions);
  end if;
  if v_timers is not null then
    perform bpm_core.start_timers(v_timers);
  end if;
  return coalesce(v_messages, '{}');
end
$$;

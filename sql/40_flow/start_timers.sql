-- Starts a timer of the node named by each wait, on the token that rests there (a catch event) or on its host (a boundary event).
-- A rule that yields no time is an incident on the token; what the token offered already is closed, lest it be done while it is stopped.
-- Writes:   timer, history_event; token, incident, and what close_waits writes.
create or replace function bpm_core.start_timers(p_waits bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_troubles bpm_core.trouble[];
begin
  if coalesce(cardinality(p_waits), 0) = 0 then
    return;
  end if;
  with wait as materialized (
    select a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, a.flow_id, a.kind, t.visit, t.node_id as host_node_id,
           coalesce(f.kind, n.timer_kind) as timer_kind, n.timer_rule, n.catch_up, r.rule, f.anchor_at, f.scheduled_at, f.remaining, f.time_zone, bpm_core.new_id() as timer_id
      from unnest(p_waits) a
     cross join lateral (select n.timer_kind, n.timer_rule, n.expressions -> 'timer' as tree, n.attributes ->> 'time_zone' as time_zone, coalesce(n.attributes ->> 'catch_up', 'Once') as catch_up
                           from bpm_core.workflow_node n
                          where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
     cross join lateral (select t.visit, t.node_id from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) t
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v
     cross join lateral (select case when n.tree is null then bpm_core.text_value(n.timer_rule, v.variables) else bpm_core.evaluate_text(n.tree, v.variables) end as rule) r
      left join lateral bpm_core.timer_first(n.timer_kind, r.rule, v_now, coalesce(n.time_zone, bpm_core.default_zone())) f on true),
  started as (
    insert into bpm_core.timer (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, rule, time_zone, anchor_at, scheduled_at, due_at, remaining, catch_up)
    select w.tenant_id, w.timer_id, w.instance_id, w.token_id, w.visit, w.node_id, w.timer_kind, w.rule, w.time_zone, w.anchor_at, w.scheduled_at,
           greatest(w.scheduled_at, bpm_core.now()), w.remaining, w.catch_up
      from wait w
     where w.scheduled_at is not null),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select w.tenant_id, w.instance_id, v_now, 'TimerStarted', w.token_id, w.node_id, jsonb_build_object('timer', w.timer_id, 'scheduled_at', w.scheduled_at)
      from wait w
     where w.scheduled_at is not null)
  select array_agg(row(row(w.tenant_id, w.instance_id, w.version_id, w.scope_id, w.token_id, w.host_node_id, w.flow_id, w.kind)::bpm_core.moving,
                       'InvalidTimer', format('Timer %s: %s gives no time.', w.node_id, w.timer_rule),
                       jsonb_build_object('timer', w.node_id, 'rule', w.timer_rule, 'value', w.rule))::bpm_core.trouble)
    into v_troubles
    from wait w
   where w.scheduled_at is null;
  perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
  perform bpm_core.open_incidents(v_troubles);
end
$$;

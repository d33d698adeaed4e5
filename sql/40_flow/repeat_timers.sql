-- Schedules the next occurrence of fired timers that repeat, on their own grid. What was missed while nothing ran is made up for
-- once (catch_up Once), one by one (All) or not at all (Skip: fire_timers did not fire it); missed ones count as used.
-- Writes:   timer, history_event.
create or replace function bpm_core.repeat_timers(p_fired bpm_core.timer[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with next as (
    insert into bpm_core.timer as t (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, rule, time_zone, anchor_at, scheduled_at,
                                due_at, remaining, catch_up)
    select f.tenant_id, bpm_core.new_id(), f.workflow_instance_id, f.token_id, f.visit, f.node_id, f.kind, f.rule, f.time_zone, f.anchor_at,
           k.scheduled_at, greatest(k.scheduled_at, bpm_core.now()), k.remaining, f.catch_up
      from unnest(p_fired) f
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = f.tenant_id and w.id = f.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting from bpm_core.workflow_node n
                          where n.tenant_id = f.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = f.node_id offset 0) n
     cross join lateral (select x.* from bpm_core.next_occurrence(f, p_now) x where f.kind in ('Cycle', 'Cron') and not n.interrupting) k
     where k.scheduled_at is not null
    returning t.tenant_id, t.id, t.workflow_instance_id, t.token_id, t.node_id, t.scheduled_at)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select n.tenant_id, n.workflow_instance_id, p_now, 'TimerStarted', n.token_id, n.node_id, jsonb_build_object('timer', n.id, 'scheduled_at', n.scheduled_at)
    from next n;
end
$$;

-- Instances, tasks, timers, waits and incidents whose state history does not tell of. Those older than history are left out.
-- Returns:  rows (tenant_id, kind, id, seen).
create or replace function bpm_core.unrecorded_changes(p_tenant_id text)
returns table (tenant_id text, kind text, id text, seen jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  with kept as materialized (
    select w.id, w.status
      from bpm_core.workflow_instance w
     where w.tenant_id = p_tenant_id and w.created_at >= (select bpm_core.history_since())),
  told as materialized (
    select h.workflow_instance_id, h.kind::text as kind,
           coalesce(h.detail ->> 'task', h.detail ->> 'timer', h.detail ->> 'incident', h.detail ->> 'subscription') as about, count(*) as times
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id
       and h.kind in ('InstanceStarted', 'InstanceCompleted', 'InstanceFailed', 'InstanceCancelled', 'InstanceSkipped', 'TaskCompleted', 'TaskFailed', 'TaskCancelled',
                      'TaskHeld', 'ErrorThrown', 'TimerFired', 'TimerCancelled', 'IncidentOpened', 'IncidentResolved', 'MessageAwaited', 'SignalAwaited', 'ConditionAwaited',
                      'SubscriptionClosed')
       and (h.kind <> 'TaskHeld' or h.detail ? 'parked')
     group by 1, 2, 3)
  select p_tenant_id, 'workflow_instance', k.id::text, jsonb_build_object('status', k.status, 'missing', e.kind)
    from kept k
   cross join lateral (values
     -- One that is skipped may have been begun as one that could not be decided.
     ('InstanceStarted', case when k.status <> 'Skipped' then 1 end),
     ('InstanceSkipped', (k.status = 'Skipped')::integer),
     ('InstanceCompleted', (k.status = 'Completed')::integer),
     ('InstanceFailed', (k.status = 'Failed')::integer),
     ('InstanceCancelled', (k.status = 'Cancelled')::integer)) e(kind, times)
    left join told t on t.workflow_instance_id = k.id and t.kind = e.kind
   where coalesce(t.times, 0) <> e.times
  union all
  select p_tenant_id, s.kind, s.id::text, jsonb_build_object('state', s.state, 'missing', s.kinds)
    from (
      select 'task' as kind, t.id, t.workflow_instance_id, t.state::text as state,
             case t.state when 'Completed' then '{TaskCompleted,TaskHeld}' when 'Failed' then '{TaskFailed,ErrorThrown}'
                          else '{TaskCancelled,ErrorThrown,TaskHeld}' end::text[] as kinds
        from bpm_core.task_instance t
       where t.tenant_id = p_tenant_id and t.state in ('Completed', 'Failed', 'Cancelled')
      union all
      select 'timer', t.id, t.workflow_instance_id, t.status::text, array['Timer' || t.status]
        from bpm_core.timer t
       where t.tenant_id = p_tenant_id and t.status in ('Fired', 'Cancelled')
      union all
      select 'subscription', s.id, s.workflow_instance_id, s.state::text,
             case s.state when 'Closed' then '{SubscriptionClosed}' else '{MessageAwaited,SignalAwaited,ConditionAwaited}' end::text[]
        from bpm_core.subscription s
       where s.tenant_id = p_tenant_id
      union all
      select 'incident', i.id, i.workflow_instance_id, i.state::text,
             case i.state when 'Open' then '{IncidentOpened}' else '{IncidentResolved}' end::text[]
        from bpm_core.incident i
       where i.tenant_id = p_tenant_id) s
    join kept k on k.id = s.workflow_instance_id
   where not exists (
     select from told t where t.workflow_instance_id = s.workflow_instance_id and t.about = s.id::text and t.kind = any (s.kinds));
end
$$;

-- Closes the timers and waits by which event sub-processes would begin in the scopes of these hosts; those of their boundary events stay.
-- Writes:   timer, subscription, history_event.
create or replace function bpm_core.close_starts(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with start as materialized (
    select h.tenant_id, h.token_id, n.node_id
      from unnest(p_hosts) h
     cross join lateral (select t.node_id from bpm_core.token t where t.tenant_id = h.tenant_id and t.id = h.token_id offset 0) t
     cross join lateral (select n.node_id, n.element from bpm_core.workflow_node n
                          where n.tenant_id = h.tenant_id and n.workflow_version_id = h.version_id and n.attached_to = t.node_id offset 0) n
     where n.element = 'startEvent'),
  live as materialized (
    select t.tenant_id, t.id
      from start s
     cross join lateral (select t.tenant_id, t.id, t.status from bpm_core.timer t where t.token_id = s.token_id and t.node_id = s.node_id offset 0) t
     where t.tenant_id = s.tenant_id and t.status in ('Scheduled', 'Held')),
  cancelled as (
    update bpm_core.timer t set status = 'Cancelled' from live l where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.tenant_id, t.workflow_instance_id, t.id, t.token_id, t.node_id),
  open as materialized (
    select w.tenant_id, w.id
      from start s
     cross join lateral (select w.tenant_id, w.id, w.state from bpm_core.subscription w where w.token_id = s.token_id and w.node_id = s.node_id offset 0) w
     where w.tenant_id = s.tenant_id and w.state = 'Open'),
  closed as (
    update bpm_core.subscription s set state = 'Closed' from open o where s.tenant_id = o.tenant_id and s.id = o.id
    returning s.tenant_id, s.workflow_instance_id, s.id, s.token_id, s.node_id, s.name)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select c.tenant_id, c.workflow_instance_id, bpm_core.now(), 'TimerCancelled'::bpm_core.history_kind, c.token_id, c.node_id, jsonb_build_object('timer', c.id)
    from cancelled c
  union all
  select c.tenant_id, c.workflow_instance_id, bpm_core.now(), 'SubscriptionClosed', c.token_id, c.node_id, jsonb_build_object('subscription', c.id, 'name', c.name)
    from closed c;
end
$$;

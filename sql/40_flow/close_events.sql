-- Closes the timers and the message and signal waits of these tokens. A message already on its way to one goes back to the buffer when tick applies it.
-- Writes:   timer, subscription, history_event.
create or replace function bpm_core.close_events(p_tenant_id text, p_tokens uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with live as materialized (
    select t.tenant_id, t.id
      from unnest(p_tokens) k(id)
     cross join lateral (select t.tenant_id, t.id, t.status from bpm_core.timer t where t.token_id = k.id offset 0) t
     where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held')),
  cancelled as (
    update bpm_core.timer t
       set status = 'Cancelled'
      from live l
     where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.workflow_instance_id, t.id, t.token_id, t.node_id),
  open as materialized (
    select s.tenant_id, s.id
      from unnest(p_tokens) k(id)
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.subscription s where s.token_id = k.id offset 0) s
     where s.tenant_id = p_tenant_id and s.state = 'Open'),
  closed as (
    update bpm_core.subscription s
       set state = 'Closed'
      from open o
     where s.tenant_id = o.tenant_id and s.id = o.id
    returning s.workflow_instance_id, s.id, s.token_id, s.node_id, s.name)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select p_tenant_id, c.workflow_instance_id, bpm_core.now(), 'TimerCancelled'::bpm_core.history_kind, c.token_id, c.node_id, jsonb_build_object('timer', c.id)
    from cancelled c
  union all
  select p_tenant_id, c.workflow_instance_id, bpm_core.now(), 'SubscriptionClosed'::bpm_core.history_kind, c.token_id, c.node_id,
         jsonb_build_object('subscription', c.id, 'name', c.name)
    from closed c;
end
$$;

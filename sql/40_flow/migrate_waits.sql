-- Under the lock: renames the events that tokens wait for, and closes those that are given up.
-- Writes:   subscription, timer, history_event.
create or replace function bpm_core.migrate_waits(p_tenant_id text, p_items bpm_core.migration_item[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  update bpm_core.subscription s
     set node_id = i.to_node_id
    from (select p_tenant_id as tenant_id, i.* from unnest(p_items) i where i.kind = 'wait' and i.action = 'rename' offset 0) i
   where s.tenant_id = i.tenant_id and s.id = i.id;
  update bpm_core.timer m
     set node_id = i.to_node_id
    from (select p_tenant_id as tenant_id, i.* from unnest(p_items) i where i.kind = 'timer' and i.action = 'rename' offset 0) i
   where m.tenant_id = i.tenant_id and m.id = i.id;
  with given_up as materialized (
    select p_tenant_id as tenant_id, i.* from unnest(p_items) i where i.action = 'close'),
  cancelled as (
    update bpm_core.timer m
       set status = 'Cancelled'
      from given_up g
     where m.tenant_id = g.tenant_id and m.id = g.id and g.kind = 'timer'
    returning m.workflow_instance_id, m.id, m.token_id, m.node_id),
  closed as (
    update bpm_core.subscription s
       set state = 'Closed'
      from given_up g
     where s.tenant_id = g.tenant_id and s.id = g.id and g.kind = 'wait'
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

-- Opens waits for conditions: each names the token that rests and the event, at its node, attached to it, or behind its event-based gateway.
-- Writes:   subscription, history_event.
create or replace function bpm_core.open_condition_waits(p_waits bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with opened as (
    insert into bpm_core.subscription (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, name, created_at)
    select a.tenant_id, bpm_core.new_id(), a.instance_id, a.token_id, t.visit, a.node_id, 'Conditional', a.node_id, v_now
      from unnest(p_waits) a
     cross join lateral (select t.visit from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) t
    returning tenant_id, id, workflow_instance_id, token_id, node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select o.tenant_id, o.workflow_instance_id, v_now, 'ConditionAwaited', o.token_id, o.node_id, 'Waiting', jsonb_build_object('subscription', o.id)
    from opened o;
end
$$;

-- Stores fresh message waits, under the locks of their keys, and gives them the messages kept for them.
-- Writes:   subscription, message, inbox, history_event.
create or replace function bpm_core.open_subscriptions(p_waits bpm_core.subscription[])
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
  if coalesce(cardinality(p_waits), 0) = 0 then
    return;
  end if;
  insert into bpm_core.subscription (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, name, correlation_key, created_at)
  select w.tenant_id, w.id, w.workflow_instance_id, w.token_id, w.visit, w.node_id, w.kind, w.name, w.correlation_key,
         -- The oldest wait gets a message: those of one command in the order in which they were come to, an outer boundary before an inner one.
         v_now + w.n * interval '1 microsecond'
    from unnest(p_waits) with ordinality w(tenant_id, id, workflow_instance_id, process_version_id, token_id, visit, node_id, kind, name, correlation_key, state,
                                           created_at, last_met, opened_by, n);
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select w.tenant_id, w.workflow_instance_id, v_now, 'MessageAwaited', w.token_id, w.node_id, 'Waiting',
         jsonb_build_object('subscription', w.id, 'name', w.name, 'correlation_key', w.correlation_key)
    from unnest(p_waits) w;
  perform bpm_core.match_buffered(p_waits, v_now);
end
$$;

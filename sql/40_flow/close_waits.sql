-- Closes whatever waits on these tokens: tasks, timers, subscriptions, approvals, reviews, open incidents, what they called, and the scopes they are hosts of
-- with all that is inside. The tokens themselves are left alone.
-- Writes:   task_instance, execution, timer, subscription, approval_record, review, incident, scope, inbox, history_event.
create or replace function bpm_core.close_waits(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_tokens uuid[];
begin
  if coalesce(cardinality(p_hosts), 0) = 0 then
    return;
  end if;
  v_tokens := array(select h.token_id from unnest(p_hosts) h);
  perform bpm_core.close_tasks(p_hosts);
  perform bpm_core.close_events((p_hosts[1]).tenant_id, v_tokens);
  perform bpm_core.close_approvals((p_hosts[1]).tenant_id, v_tokens);
  perform bpm_core.close_reviews(p_hosts);
  perform bpm_core.close_incidents(p_hosts);
  perform bpm_core.close_calls((p_hosts[1]).tenant_id, v_tokens);
  perform bpm_core.close_scopes((p_hosts[1]).tenant_id, v_tokens);
end
$$;

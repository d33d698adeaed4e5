-- Opens the message waits of boundary events that do not interrupt anew, for the next message, under the locks of their keys. The key stays
-- what it was when the host was entered.
-- Raises:   55P03 another call holds one of the keys: apply_inbox leaves the row for the next tick.
-- Writes:   as open_subscriptions.
create or replace function bpm_core.reopen_waits(p_consumed bpm_core.subscription[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if coalesce(cardinality(p_consumed), 0) = 0 then
    return;
  end if;
  if bpm_core.try_message_keys(array(
       select bpm_core.message_key_hash(c.tenant_id, c.name, c.correlation_key) from unnest(p_consumed) c)) <> '{}' then
    perform bpm_core.fail('55P03', 'Another call holds the key of a wait to be opened again.');
  end if;
  perform bpm_core.open_subscriptions(array(
    select row(c.tenant_id, bpm_core.new_id(), c.workflow_instance_id, null, c.token_id, c.visit, c.node_id, c.kind, c.name, c.correlation_key,
               'Open', null, false, null)::bpm_core.subscription
      from unnest(p_consumed) c));
end
$$;

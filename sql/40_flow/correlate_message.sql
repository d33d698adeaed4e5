-- Gives a message to the wait for it; if there is none, starts the process that has a start event for it, with the key as its business key; else keeps it until a
-- wait opens or its time is over. At most one receiver per message.
-- Commit when you call it from your own transaction; the key stays locked until then.
-- p_ttl: how long it is kept when nobody waits; 0 meets only existing waits and start events. p_message_id: repeating a call with it gives the first answer.
-- Returns:  one row: message_id, state (Correlated, Buffered, Expired), process_instance_id of the receiver or of what it started, is_new.
-- Raises:   BP400 name or key missing or too long, ttl out of 0..365 days. BP403. BP409 message id used for another message. BP422 payload refused.
-- Writes:   message, inbox; when the receiver is free at once also all that applying it writes.
-- Locks:    the message key, then its instance by skip locked only (it holds a key, so it may not wait).
create or replace function bpm.correlate_message(
  p_name text, p_correlation_key text, p_payload jsonb default '{}', p_ttl interval default interval '1 hour', p_message_id text default null,
  p_tenant_id text default '')
returns table (message_id uuid, state text, process_instance_id uuid, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_id uuid;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_message(p_name, p_correlation_key, p_payload, p_ttl, p_message_id);
  perform bpm_core.lock_message_keys(array[bpm_core.message_key_hash(p_tenant_id, p_name, p_correlation_key)]);
  v_id := bpm_core.keep_message(p_tenant_id, p_name, p_correlation_key, bpm_core.decode_variables(p_payload), p_ttl, p_message_id);
  is_new := v_id is not null;
  if is_new then
    perform bpm_core.offer_message(p_tenant_id, v_id, true);
  else
    v_id := bpm_core.known_message(p_tenant_id, p_name, p_correlation_key, p_payload, p_message_id);
  end if;
  return query
  select m.id, m.state::text, w.process_instance_id, is_new
    from bpm_core.message m
    left join lateral (select s.workflow_instance_id from bpm_core.subscription s
                        where s.tenant_id = m.tenant_id and s.id = m.correlated_to offset 0) s on true
    left join lateral (select w.process_instance_id from bpm_core.workflow_instance w
                        where w.tenant_id = m.tenant_id and w.id = coalesce(s.workflow_instance_id, m.started_id) offset 0) w on true
   where m.tenant_id = p_tenant_id and m.id = v_id;
end
$$;

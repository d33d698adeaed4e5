-- Stores a message under the lock of its key, as buffered for now.
-- Returns:  uuid; null when its message_id is known. Writes: message.
create or replace function bpm_core.keep_message(
  p_tenant_id text, p_name text, p_correlation_key text, p_payload jsonb, p_ttl interval, p_message_id text)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_id  uuid;
  v_now timestamptz := bpm_core.now();
begin
  insert into bpm_core.message (tenant_id, id, name, correlation_key, message_id, payload, content_hash, state, received_at, expires_at)
  values (p_tenant_id, bpm_core.new_id(), p_name, p_correlation_key, p_message_id, p_payload, bpm_core.answer_hash(p_payload, null), 'Buffered', v_now,
          v_now + p_ttl)
  on conflict (tenant_id, message_id) do nothing
  returning id into v_id;
  return v_id;
end
$$;

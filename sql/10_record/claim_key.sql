-- Enters the idempotency key of a call that creates. The first to enter it wins, also against a concurrent caller, whose end this waits for: so it comes before any
-- other lock. Whoever wins does the work and then answers it (answer_key), in the same transaction; if that fails, the key is free again.
-- Returns:  jsonb, the answer of the first call; null: this is the first.
-- Raises:   BP400 a key that is empty or too long. BP409 the key was used for another request.
-- Writes:   idempotency_key.
create or replace function bpm_core.claim_key(p_tenant_id text, p_operation text, p_key text, p_request_hash bytea, p_now timestamptz)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_key bpm_core.idempotency_key;
begin
  if length(p_key) not between 1 and 300 then
    perform bpm_core.fail('BP400', 'An idempotency key has 1 to 300 characters.', jsonb_build_object('length', length(p_key)));
  end if;
  loop
    insert into bpm_core.idempotency_key (tenant_id, operation, key, request_hash, created_at, expires_at)
    values (p_tenant_id, p_operation, p_key, p_request_hash, p_now, bpm_core.key_expiry(p_now))
    on conflict do nothing;
    if found then
      return null;
    end if;
    select k.* into r_key from bpm_core.idempotency_key k where k.tenant_id = p_tenant_id and k.operation = p_operation and k.key = p_key;
    exit when found;
    -- Its time was over, and it was forgotten (maintain_keys) since the insert met it: enter it anew.
  end loop;
  if r_key.request_hash is distinct from p_request_hash then
    perform bpm_core.fail('BP409', format('Idempotency key %L was used for another request.', p_key), null, 'Use a fresh key, or repeat the request unchanged.');
  end if;
  return r_key.response;
end
$$;

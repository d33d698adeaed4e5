-- Stores the answer of a call under the key it has just entered (claim_key); every repeat gets it.
-- Writes:   idempotency_key.
create or replace function bpm_core.answer_key(p_tenant_id text, p_operation text, p_key text, p_response jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  update bpm_core.idempotency_key k set response = p_response where k.tenant_id = p_tenant_id and k.operation = p_operation and k.key = p_key;
end
$$;

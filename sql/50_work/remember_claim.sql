-- Keeps what a claim with a request id handed out, until the first of its leases runs out (replayed_claim). An empty claim is not kept: asking again costs nothing.
-- Writes:   idempotency_key.
create or replace function bpm_core.remember_claim(
  p_tenant_id text, p_worker text, p_types text[], p_limit integer, p_lease interval, p_request_id text, p_claimed bpm_core.claimed_task[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if cardinality(p_claimed) = 0 then
    return;
  end if;
  insert into bpm_core.idempotency_key as k (tenant_id, operation, key, request_hash, response, created_at, expires_at)
  select p_tenant_id, 'claim_tasks', bpm_core.claim_key_of(p_worker, p_request_id), bpm_core.request_hash(p_types::text, p_limit::text, p_lease::text),
         jsonb_agg(jsonb_build_object('task_id', c.task_id, 'fencing_token', c.fencing_token) order by c.n), bpm_core.now(), min(c.lease_until)
    from unnest(p_claimed) with ordinality c(slot, available_at, task_id, process_instance_id, workflow_instance_id, business_key, node_id, task_type, attempt,
                                             fencing_token, lease_until, variables, headers, suspended, n)
  on conflict (tenant_id, operation, key) do update
     set request_hash = excluded.request_hash, response = excluded.response, created_at = excluded.created_at, expires_at = excluded.expires_at;
end
$$;

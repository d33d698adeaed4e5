-- What a claim with this request id has handed out, when its reply was lost and the worker asks again. Another caller with the same request is waited for
-- first. Only what the worker still holds under that claim, and only until the first of its leases runs out: then the request is a new one.
-- Returns:  claimed_task[], with the variables of now; null: nothing was handed out under it, claim.
-- Raises:   BP409 the request id was used for another claim.
-- Locks:    an advisory lock on the request, to the end of the transaction.
create or replace function bpm_core.replayed_claim(
  p_tenant_id text, p_worker text, p_types text[], p_limit integer, p_lease interval, p_request_id text)
returns bpm_core.claimed_task[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_key   text := bpm_core.claim_key_of(p_worker, p_request_id);
  v_now   timestamptz;
  r_claim bpm_core.idempotency_key;
begin
  perform pg_advisory_xact_lock(hashtextextended(p_tenant_id || ' ' || v_key, 5));
  v_now := bpm_core.now();
  select k.* into r_claim from bpm_core.idempotency_key k where k.tenant_id = p_tenant_id and k.operation = 'claim_tasks' and k.key = v_key;
  if r_claim.key is null or r_claim.expires_at <= v_now then
    return null;
  elsif r_claim.request_hash <> bpm_core.request_hash(p_types::text, p_limit::text, p_lease::text) then
    perform bpm_core.fail('BP409', format('Request id %L of worker %s was used for another claim.', p_request_id, p_worker), null,
      'Use a fresh one for each claim; repeat one only when its answer was lost.');
  end if;
  return array(
    select row(0, t.available_at, t.id, w.process_instance_id, t.workflow_instance_id, p.business_key, t.node_id, t.task_type, t.attempt, t.fencing_token,
               t.lease_until, v.variables || coalesce(t.input, '{}'), coalesce(t.headers, '{}'), false)::bpm_core.claimed_task
      from (select p_tenant_id as tenant_id, (c.claimed ->> 'task_id')::uuid as id, (c.claimed ->> 'fencing_token')::bigint as fencing_token, c.n
              from jsonb_array_elements(r_claim.response) with ordinality c(claimed, n) offset 0) c
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = c.tenant_id and t.id = c.id offset 0) t
     cross join lateral (select w.process_instance_id from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     cross join lateral (select p.business_key from bpm_core.process_instance p where p.tenant_id = t.tenant_id and p.id = w.process_instance_id offset 0) p
     cross join lateral bpm_core.token_variables(t.tenant_id, t.workflow_instance_id, coalesce(t.scope_id, bpm_core.root_scope())) v
     where t.state = 'Executing' and t.fencing_token = c.fencing_token and t.worker_id = p_worker and t.lease_until > v_now
     order by c.n);
end
$$;

-- Enters the idempotency keys of starts; the first to enter a key wins, also against a concurrent caller, whose end this waits for.
-- Returns:  start[]: the same items; one that lost carries the first answer's instance and outcome Done, or outcome Conflict. A repeat gets the
--           first answer even when it could not start any more (archived, the cap lowered since).
-- Writes:   idempotency_key. Locks: those known, for share.
create or replace function bpm_core.settle_start_keys(p_tenant_id text, p_starts bpm_core.start[], p_now timestamptz)
returns bpm_core.start[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_wanted constant integer := (select count(distinct s.idempotency_key)::integer from unnest(p_starts) s where s.outcome is null);
  v_entered integer;
begin
  loop
    insert into bpm_core.idempotency_key (tenant_id, operation, key, request_hash, response, instance_id, created_at, expires_at)
    select distinct on (s.idempotency_key)
           p_tenant_id, 'start_process', s.idempotency_key, s.request_hash,
           jsonb_build_object('process_instance_id', s.process_instance_id, 'workflow_instance_id', s.workflow_instance_id), s.process_instance_id,
           p_now, bpm_core.key_expiry(p_now)
      from unnest(p_starts) s
     where s.idempotency_key is not null and s.outcome is null
     order by s.idempotency_key, s.item
    on conflict do nothing;
    get diagnostics v_entered = row_count;
    exit when v_entered = v_wanted;
    -- Those met are held, so that none is forgotten (maintain_keys) before it is read; one that was, since the insert met it, is entered anew.
    perform 1
       from (select distinct p_tenant_id as tenant_id, s.idempotency_key from unnest(p_starts) s where s.idempotency_key is not null and s.outcome is null offset 0) s
      cross join lateral (select from bpm_core.idempotency_key k
                           where k.tenant_id = s.tenant_id and k.operation = 'start_process' and k.key = s.idempotency_key for share) k;
    get diagnostics v_entered = row_count;
    exit when v_entered = v_wanted;
  end loop;
  return array(
    select row(s.item, s.code, s.variables, s.business_key, s.idempotency_key, s.request_hash,
               s.process_version_id, s.workflow_version_id, s.role_version_id, s.start_node_id, s.business_case_id,
               case when k.request_hash = s.request_hash then k.instance_id else s.process_instance_id end,
               case when k.request_hash = s.request_hash then (k.response ->> 'workflow_instance_id')::uuid else s.workflow_instance_id end,
               s.token_id,
               case when k.request_hash = s.request_hash and k.instance_id <> s.process_instance_id then 'Done'
                    when s.outcome is not null or k.key is null or k.instance_id = s.process_instance_id then s.outcome
                    else 'Conflict' end::bpm.outcome,
               case when k.request_hash <> s.request_hash and s.outcome is null
                    then format('Idempotency key %L was used for another request.', s.idempotency_key) else s.message end, s.cause, s.is_several
           )::bpm_core.start
      from unnest(p_starts) s
      left join lateral (select k.* from bpm_core.idempotency_key k
                          where k.tenant_id = p_tenant_id and k.operation = 'start_process' and k.key = s.idempotency_key offset 0) k on true
     order by s.item);
end
$$;

-- Forgets idempotency keys whose time is over, of all tenants, oldest first. Call it until done is true; two callers share the work.
-- How long keys are kept is the setting engine.idempotency_key_days; a key keeps the time it was entered with.
-- Returns:  one row: deleted, done (nothing expired is left), oldest_expiry (of what is left).
-- Raises:   BP403 not admin of the tenant without a name. BP422 limit (1..100,000).
-- Writes:   idempotency_key. Locks: what it deletes, skip locked.
create or replace function bpm.maintain_keys(p_limit integer default 10000, p_tenant_id text default '')
returns table (deleted integer, done boolean, oldest_expiry timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Keys are forgotten for all tenants at once; only an admin of the tenant without a name does that.', null, 'Leave p_tenant_id out.');
  elsif p_limit is null or p_limit not between 1 and 100000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 100000, not %s.', coalesce(p_limit::text, 'null')), jsonb_build_object('limit', p_limit));
  end if;
  with expired as materialized (
    select k.tenant_id, k.operation, k.key
      from bpm_core.idempotency_key k
     where k.expires_at <= v_now
     order by k.expires_at
     limit p_limit
       for no key update skip locked)
  delete from bpm_core.idempotency_key k
   using expired e
   where k.tenant_id = e.tenant_id and k.operation = e.operation and k.key = e.key;
  get diagnostics deleted = row_count;
  select k.expires_at into oldest_expiry from bpm_core.idempotency_key k where k.expires_at > '-infinity' order by k.expires_at limit 1;
  done := coalesce(oldest_expiry > v_now, true);
  return next;
end
$$;

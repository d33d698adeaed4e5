-- Makes the business cases of these keys that are not there.
-- Writes:   business_case. Locks: the new keys, in the order given; somebody who is making one is waited for.
create or replace function bpm_core.insert_cases(p_tenant_id text, p_keys text[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.business_case (tenant_id, id, business_key, created_at)
  select p_tenant_id, bpm_core.new_id(), k.key, p_now from unnest(p_keys) with ordinality k(key, n) order by k.n
  on conflict do nothing;
end
$$;

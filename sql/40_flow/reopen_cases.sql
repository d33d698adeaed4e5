-- Opens business cases again under whose key something starts.
-- Writes:   business_case, audit_event. Locks: business_case.
create or replace function bpm_core.reopen_cases(p_tenant_id text, p_cases uuid[], p_actor text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_case record;
begin
  perform 1
     from (select p_tenant_id as tenant_id, k.id from unnest(p_cases) k(id) order by k.id offset 0) k
    cross join lateral (select from bpm_core.business_case c where c.tenant_id = k.tenant_id and c.id = k.id for no key update) c;
  for r_case in
    update bpm_core.business_case c
       set state = 'Open', lock_version = c.lock_version + 1
      from (select p_tenant_id as tenant_id, k.id from unnest(p_cases) k(id) offset 0) k
     where c.tenant_id = k.tenant_id and c.id = k.id and c.state = 'Closed'
    returning c.id, c.lock_version
  loop
    perform bpm_core.write_audit(p_tenant_id, p_actor, 'OpenCase', 'business_case', r_case.id::text, r_case.lock_version, 'something started under its key');
  end loop;
end
$$;

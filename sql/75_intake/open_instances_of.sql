-- The process instances of a business key that have not ended, oldest first; of one process, if said.
-- Returns:  uuid[], at most 1,000.
create or replace function bpm_core.open_instances_of(p_tenant_id text, p_business_key text, p_process_code text)
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select p.id
      from (select p.tenant_id, p.id, p.process_version_id
              from bpm_core.process_instance p
             where p.business_key = p_business_key and p.tenant_id is not distinct from p_tenant_id and p.status in ('Running', 'Suspended')
             order by p.id
             limit 1000) p
      left join lateral (select v.definition_id from bpm_core.process_version v where v.tenant_id = p.tenant_id and v.id = p.process_version_id offset 0) v on true
      left join lateral (select d.code from bpm_core.process_definition d where d.tenant_id = p.tenant_id and d.id = v.definition_id offset 0) d on true
     where p_process_code is null or d.code = p_process_code
     order by p.id);
end
$$;

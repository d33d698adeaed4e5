-- Locks the definitions of process versions that nobody holds, in the order of their ids: whoever fires a start timer shares them with nobody, a
-- deploy that moves it included.
-- Returns:  the versions, of those given, whose definition is locked now. Locks: process_definition, for no key update skip locked.
create or replace function bpm_core.try_lock_definitions(p_tenant_id text, p_versions uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_locked uuid[];
begin
  v_locked := array(
    select d.id
      from (select distinct v.tenant_id, v.definition_id
              from (select p_tenant_id as tenant_id, k.id from unnest(p_versions) k(id) offset 0) k
             cross join lateral (select v.tenant_id, v.definition_id from bpm_core.process_version v where v.tenant_id = k.tenant_id and v.id = k.id offset 0) v
             order by v.definition_id offset 0) v
     cross join lateral (
       select d.id
         from bpm_core.process_definition d
        where d.tenant_id = v.tenant_id and d.id = v.definition_id
          for no key update skip locked) d);
  return array(
    select k.id
      from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_versions) k(id) offset 0) k
     cross join lateral (select v.definition_id from bpm_core.process_version v where v.tenant_id = k.tenant_id and v.id = k.id offset 0) v
     where v.definition_id = any (v_locked));
end
$$;

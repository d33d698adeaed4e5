-- Locks those of the process instances that nobody holds, in the order of their ids, for the picker of the inbox.
-- Returns:  the ids locked. Locks: process_instance, for no key update skip locked.
create or replace function bpm_core.try_lock_processes(p_tenant_id text, p_processes uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select p.id
      from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_processes) k(id) order by k.id offset 0) k
     cross join lateral (
       select p.id
         from bpm_core.process_instance p
        where p.tenant_id = k.tenant_id and p.id = k.id
          for no key update skip locked) p);
end
$$;

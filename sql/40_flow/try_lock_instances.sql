-- Locks those of the instances that nobody holds, in the order of their ids, for pickers, which skip rather than wait (law 3).
-- Returns:  the ids locked. Locks: workflow_instance, for no key update skip locked.
create or replace function bpm_core.try_lock_instances(p_tenant_id text, p_instances uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select w.id
      from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_instances) k(id) order by k.id offset 0) k
     cross join lateral (
       select w.id
         from bpm_core.workflow_instance w
        where w.tenant_id = k.tenant_id and w.id = k.id
          for no key update skip locked) w);
end
$$;

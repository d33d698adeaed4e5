-- Locks free slots of one quota, at most p_wanted. Slots are filled by whoever locked them, and emptied by who ends their task: nobody ever waits for one.
-- Returns:  integer[], the slots.
-- Locks:    quota_slot, skip locked.
create or replace function bpm_core.lock_quota_slots(p_tenant_id text, p_task_type text, p_bound integer, p_wanted integer)
returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select s.slot
      from bpm_core.quota_slot s
     where s.tenant_id = p_tenant_id and s.task_type = p_task_type and s.slot <= p_bound and s.task_instance_id is null
     order by s.slot
     limit p_wanted
       for no key update skip locked);
end
$$;

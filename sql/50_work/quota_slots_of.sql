-- The slots tasks were claimed under: of their tenants, then of their types.
-- Returns:  rows (task_id, task_type, slot); task_type empty for the slot of the whole tenant.
create or replace function bpm_core.quota_slots_of(p_tenant_id text, p_tasks uuid[])
returns table (task_id uuid, task_type text, slot integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select t.id, k.task_type, k.slot
    from (select p_tenant_id as tenant_id, i.id from unnest(p_tasks) i(id) offset 0) i
   cross join lateral (select t.id, t.task_type, t.type_slot, t.tenant_slot from bpm_core.task_instance t
                        where t.tenant_id = i.tenant_id and t.id = i.id offset 0) t
   cross join lateral (values ('', t.tenant_slot), (t.task_type, t.type_slot)) k(task_type, slot)
   where k.slot is not null;
end
$$;

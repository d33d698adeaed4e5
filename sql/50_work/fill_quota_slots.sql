-- Notes in the slots of quotas, which are locked, the tasks that were claimed under them.
-- Writes:   quota_slot.
create or replace function bpm_core.fill_quota_slots(p_tenant_id text, p_tasks uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_slot record;
begin
  -- Row by row, by the whole key: quotas are few, and over a table that is nearly always empty a set would be planned as one scan.
  for r_slot in select s.* from bpm_core.quota_slots_of(p_tenant_id, p_tasks) s loop
    update bpm_core.quota_slot s
       set task_instance_id = r_slot.task_id
     where s.tenant_id = p_tenant_id and s.task_type = r_slot.task_type and s.slot = r_slot.slot;
  end loop;
end
$$;

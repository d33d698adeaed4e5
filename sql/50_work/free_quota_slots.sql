-- Attempts that ended give the slots of their quotas back. Under the locks of their tasks: no other command can be about to do the same.
-- Writes:   quota_slot.
create or replace function bpm_core.free_quota_slots(p_tenant_id text, p_tasks uuid[])
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
  -- Row by row, see fill_quota_slots.
  for r_slot in select s.* from bpm_core.quota_slots_of(p_tenant_id, p_tasks) s loop
    update bpm_core.quota_slot s
       set task_instance_id = null
     where s.tenant_id = p_tenant_id and s.task_type = r_slot.task_type and s.slot = r_slot.slot and s.task_instance_id = r_slot.task_id;
  end loop;
  -- What a quota kept back may go now, to somebody who sleeps.
  perform bpm_core.wake_sleepers('tasks', p_tenant_id);
end
$$;

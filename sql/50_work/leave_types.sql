-- Under the locks: tasks in hand that migration gives another type give the slot of the old one back. They count for neither until their next attempt.
-- Writes:   quota_slot, task_instance, where a type with a quota is left.
create or replace function bpm_core.leave_types(p_tenant_id text, p_tasks uuid[], p_to uuid, p_mapping jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_left record;
begin
  for r_left in
    select t.tenant_id, t.id, t.task_type, t.type_slot
      from (select p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral (select b.task_type from bpm_core.workflow_task_binding b
                          where b.tenant_id = t.tenant_id and b.workflow_version_id = p_to and b.node_id = bpm_core.image_of(p_mapping, t.node_id) offset 0) b
     where t.state = 'Executing' and t.type_slot is not null and b.task_type <> t.task_type
  loop
    update bpm_core.quota_slot s
       set task_instance_id = null
     where s.tenant_id = r_left.tenant_id and s.task_type = r_left.task_type and s.slot = r_left.type_slot and s.task_instance_id = r_left.id;
    update bpm_core.task_instance t set type_slot = null where t.tenant_id = r_left.tenant_id and t.id = r_left.id;
  end loop;
end
$$;

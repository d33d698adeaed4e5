-- I-29: slots of quotas are held by just the tasks that were claimed under them and are Executing.
create or replace function bpm_core.invariant_i_29(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-29', s.tenant_id, 'task', s.task_instance_id::text, 'a slot is held by a task that is not under it',
           jsonb_build_object('task_type', s.task_type, 'slot', s.slot, 'state', t.state, 'type_slot', t.type_slot, 'tenant_slot', t.tenant_slot))
    from bpm_core.quota_slot s
    left join bpm_core.task_instance t on t.tenant_id = s.tenant_id and t.id = s.task_instance_id
   where s.tenant_id = p_tenant_id and s.task_instance_id is not null
     and (t.state is distinct from 'Executing'
          or case s.task_type when '' then t.tenant_slot else t.type_slot end is distinct from s.slot
          or s.task_type not in ('', t.task_type))
  union all
  select bpm_core.violation_of('I-29', t.tenant_id, 'task', t.id::text, 'it was claimed under a slot that it does not hold',
           jsonb_build_object('task_type', k.task_type, 'slot', k.slot, 'held_by', s.task_instance_id))
    from bpm_core.task_instance t
   cross join lateral (values ('', t.tenant_slot), (t.task_type, t.type_slot)) k(task_type, slot)
    left join bpm_core.quota_slot s on s.tenant_id = t.tenant_id and s.task_type = k.task_type and s.slot = k.slot
   where t.tenant_id = p_tenant_id and t.state = 'Executing' and k.slot is not null and s.task_instance_id is distinct from t.id
  ) q(v);
end
$$;

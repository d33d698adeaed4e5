-- Under the instance lock: gives the open tasks of an instance the node, task version, type, priority and attempts of the new version. A task in hand
-- stays in hand; its next attempt is the new version's. What gets another type leaves the quota of the old one. Attempts given by a release or a requeue stay on top. What input mappings gave stays.
-- Writes:   task_instance; quota_slot. Locks: task_instance.
create or replace function bpm_core.migrate_tasks(p_tenant_id text, p_instance_id uuid, p_from uuid, p_to uuid, p_mapping jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_open uuid[] := array(
    select t.id
      from (select t.tenant_id, t.id, t.state from bpm_core.task_instance t where t.workflow_instance_id = p_instance_id offset 0) t
     where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Held', 'Failed'));
begin
  perform bpm_core.lock_tasks(p_tenant_id, v_open);
  perform bpm_core.leave_types(p_tenant_id, v_open, p_to, p_mapping);
  with bound as materialized (
    select t.tenant_id, t.id, b.node_id, b.task_version_id, b.task_type, b.priority_level, b.lease, b.headers, b.checks_result, b.needs_review,
           b.expressions -> 'outputs' as outputs, b.max_attempts - o.max_attempts as more
      from (select p_tenant_id as tenant_id, k.id from unnest(v_open) k(id) offset 0) k
     cross join lateral (select t.tenant_id, t.id, t.node_id, t.state from bpm_core.task_instance t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral (select b.* from bpm_core.workflow_task_binding b
                          where b.tenant_id = t.tenant_id and b.workflow_version_id = p_to and b.node_id = bpm_core.image_of(p_mapping, t.node_id) offset 0) b
     cross join lateral (select o.max_attempts from bpm_core.workflow_task_binding o
                          where o.tenant_id = t.tenant_id and o.workflow_version_id = p_from and o.node_id = t.node_id offset 0) o
     where t.state in ('Ready', 'Executing', 'Held', 'Failed'))
  update bpm_core.task_instance t
     set node_id = b.node_id, task_version_id = b.task_version_id, task_type = b.task_type, priority_level = b.priority_level, lease = b.lease,
         headers = b.headers, outputs = b.outputs, checks_result = b.checks_result, needs_review = b.needs_review,
         -- A task that failed for good does not come to life again by having more of them.
         max_attempts = case when t.state = 'Failed' then t.max_attempts
                             else greatest(t.attempt + (t.state <> 'Executing')::integer, t.max_attempts + b.more) end,
         -- In another queue its old place may lie behind the positions of those who claim there.
         available_at = case when t.state = 'Ready' and (t.task_type, t.priority_level) is distinct from (b.task_type, b.priority_level)
                             then greatest(t.available_at, bpm_core.now()) else t.available_at end
    from bound b
   where t.tenant_id = b.tenant_id and t.id = b.id;
  perform bpm_core.wake_sleepers('tasks', p_tenant_id);
end
$$;

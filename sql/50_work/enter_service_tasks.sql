-- KIND service task: the token rests, a task is offered. The row that made the token leave its last node tells history where it went.
-- Returns:  moving[], the message waits of its boundary events. Writes: token, task_instance; timer where the task has boundary timers.
create or replace function bpm_core.enter_service_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, t.visit)
  insert into bpm_core.task_instance (
    tenant_id, id, workflow_instance_id, token_id, scope_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease)
  select r.tenant_id, bpm_core.new_id(), r.instance_id, r.token_id, nullif(r.scope_id, bpm_core.root_scope()), r.visit, r.node_id, b.task_version_id, b.task_type, b.priority_level,
         bpm_core.now(), b.max_attempts, b.lease
    from rested r
   cross join lateral (select b.* from bpm_core.workflow_task_binding b
                        where b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id offset 0) b;
  return bpm_core.arm_boundaries(p_arriving);
end
$$;

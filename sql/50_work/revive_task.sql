-- Gives a failed task fresh attempts: the same row, the same token. The instance is locked.
-- Returns:  boolean, whether there was one to revive.
-- Writes:   task_instance, token, history_event.
create or replace function bpm_core.revive_task(p_tenant_id text, p_task_id uuid, p_attempts integer, p_actor text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := bpm_core.now();
  r_task bpm_core.task_instance;
begin
  update bpm_core.task_instance t
     set state = 'Ready', available_at = v_now, max_attempts = t.attempt + p_attempts, worker_id = null, claimed_at = null, lease_until = null
   where t.tenant_id = p_tenant_id and t.id = p_task_id and t.state = 'Failed'
  returning t.* into r_task;
  if not found then
    return false;
  end if;
  update bpm_core.token t
     set state = 'Waiting', attempt = t.attempt + 1, version = t.version + 1, updated_at = v_now
   where t.tenant_id = r_task.tenant_id and t.id = r_task.token_id and t.state = 'Failed';
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  values (p_tenant_id, r_task.workflow_instance_id, v_now, 'TaskRequeued', r_task.token_id, r_task.node_id, 'Failed', 'Waiting', p_actor,
          jsonb_build_object('task', p_task_id, 'attempts', p_attempts));
  perform bpm_core.wake_sleepers('tasks', p_tenant_id);
  return true;
end
$$;

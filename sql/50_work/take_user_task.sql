-- Under the locks: a person's answer begins: one attempt, which ends in the same transaction.
-- Returns:  task_instance as it is now.
-- Raises:   BP403 the actor is excluded; BP409 somebody else holds it, or it is delegated; BP409, BP423 the instance is not running.
-- Writes:   task_instance.
create or replace function bpm_core.take_user_task(p_task bpm_core.task_instance, p_state bpm_core.task_state, p_actor text)
returns bpm_core.task_instance
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
  perform bpm_core.check_running(p_task.tenant_id, p_task.workflow_instance_id);
  if p_task.assignee is not null and p_task.assignee <> p_actor then
    perform bpm_core.fail('BP409', format('User task %s is claimed by %s.', p_task.id, p_task.assignee),
      jsonb_build_object('claimed_by', p_task.assignee));
  elsif p_task.delegation = 'Pending' then
    perform bpm_core.fail('BP409', format('User task %s was handed on by %s, who will answer it.', p_task.id, p_task.owner),
      jsonb_build_object('owner', p_task.owner), 'Hand it back with bpm.resolve_user_task.');
  end if;
  perform bpm_core.check_excluded(p_task, p_actor);
  update bpm_core.task_instance t
     set state = p_state, attempt = t.attempt + 1, max_attempts = greatest(t.max_attempts, t.attempt + 1), fencing_token = t.fencing_token + 1,
         assignee = p_actor, worker_id = p_actor, claimed_at = v_now, lease_until = v_now
   where t.tenant_id = p_task.tenant_id and t.id = p_task.id
  returning t.* into r_task;
  return r_task;
end
$$;

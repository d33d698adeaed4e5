-- Locks a user task that is open.
-- Returns:  task_instance.
-- Raises:   BP404 there is none, BP409 it is not open any more, BP423 it is held: its instance is suspended.
create or replace function bpm_core.lock_user_task(p_tenant_id text, p_task_id uuid)
returns bpm_core.task_instance
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task bpm_core.task_instance;
begin
  select t.* into r_task
    from bpm_core.task_instance t
   where t.tenant_id = p_tenant_id and t.id = p_task_id
     for no key update;
  if r_task.id is null or r_task.task_type <> 'bpm:user' then
    perform bpm_core.fail('BP404', format('There is no user task %s.', p_task_id), null, 'People''s tasks are those of type bpm:user in the view bpm.task.');
  elsif r_task.state = 'Held' then
    perform bpm_core.fail('BP423', format('User task %s is held: its instance is suspended.', p_task_id), null, 'Resume it first.');
  elsif r_task.state <> 'Ready' then
    perform bpm_core.fail('BP409',
      format('User task %s is %s%s.', p_task_id, r_task.state, case when r_task.state = 'Completed' then ', answered by ' || r_task.worker_id else '' end),
      jsonb_strip_nulls(jsonb_build_object('state', r_task.state, 'by', r_task.worker_id)), 'It is no longer open; an answer counts once.');
  end if;
  return r_task;
end
$$;

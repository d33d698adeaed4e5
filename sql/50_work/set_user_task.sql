-- Changes when a user task is due, when it is to be looked at again, and how urgent it is. What is not named stays.
-- p_changes: {"due_at": time or null, "follow_up_at": time or null, "priority": "high", "normal" or "low"}.
-- Returns:  one row: task_id, outcome Done, due_at, follow_up_at, priority_level.
-- Raises:   BP403, BP404, BP409 it is no longer open, BP422 changes that are none, BP423 suspended.
-- Writes:   task_instance, audit_event. Locks: workflow_instance, so that a tick passes over it while this
--           transaction lasts, then task_instance.
create or replace function bpm.set_user_task(p_task_id uuid, p_changes jsonb, p_actor text default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, due_at timestamptz, follow_up_at timestamptz, priority_level smallint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  r_task  bpm_core.task_instance;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if jsonb_typeof(p_changes) is distinct from 'object' or p_changes = '{}' or p_changes - '{due_at,follow_up_at,priority}'::text[] <> '{}'
     or p_changes ->> 'priority' not in ('high', 'normal', 'low') or p_changes -> 'priority' = 'null'
     or p_changes -> 'due_at' <> 'null' and coalesce(jsonb_typeof(p_changes -> 'due_at') <> 'string' or bpm_core.parse_timestamp(p_changes ->> 'due_at') is null, true)
     or p_changes -> 'follow_up_at' <> 'null' and coalesce(jsonb_typeof(p_changes -> 'follow_up_at') <> 'string' or bpm_core.parse_timestamp(p_changes ->> 'follow_up_at') is null, true) then
    perform bpm_core.fail('BP422', 'Changes are an object of due_at, follow_up_at (a time with offset, or null) and priority (high, normal or low).', p_changes);
  end if;
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  r_task := bpm_core.lock_user_task(p_tenant_id, p_task_id);
  update bpm_core.task_instance t
     set due_at = case when p_changes ? 'due_at' then bpm_core.parse_timestamp(p_changes ->> 'due_at') else t.due_at end,
         follow_up_at = case when p_changes ? 'follow_up_at' then bpm_core.parse_timestamp(p_changes ->> 'follow_up_at') else t.follow_up_at end,
         priority_level = coalesce(case p_changes ->> 'priority' when 'high' then 0 when 'normal' then 1 when 'low' then 2 end, t.priority_level)
   where t.tenant_id = p_tenant_id and t.id = p_task_id
  returning t.* into r_task;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SetUserTask', 'task_instance', p_task_id::text, null, null, p_changes);
  return query select p_task_id, 'Done'::bpm.outcome, r_task.due_at, r_task.follow_up_at, r_task.priority_level;
end
$$;

-- Gives a user task to somebody, whoever holds it now, or to nobody (p_assignee null). A delegation ends with it.
-- Returns:  one row: task_id, outcome Done (also when it was theirs already), assignee, fencing_token (the form of who held it is stale).
-- Raises:   BP403 no grant, or p_assignee is excluded; BP404, BP409 it is no longer open; BP422 name or reason out of range; BP423 suspended.
-- Writes:   task_instance, history_event, audit_event. Locks: workflow_instance, then task_instance.
create or replace function bpm.assign_user_task(p_task_id uuid, p_assignee text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, assignee text, fencing_token bigint)
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
  r_task := bpm_core.lock_to_hand_over(p_tenant_id, p_task_id, p_assignee, p_reason);
  if r_task.assignee is distinct from p_assignee or r_task.delegation is not null then
    perform bpm_core.check_excluded(r_task, p_assignee);
    r_task := bpm_core.hand_over(r_task, p_assignee, null, 'AssignUserTask', v_actor, p_reason);
  end if;
  return query select p_task_id, 'Done'::bpm.outcome, r_task.assignee, r_task.fencing_token;
end
$$;

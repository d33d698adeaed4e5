-- Whom a user task was handed on to gives it back to its owner, who answers it.
-- Returns:  one row: task_id, outcome Done, assignee (the owner), fencing_token.
-- Raises:   BP403, BP404, BP409 it was not handed on to the actor, or is no longer open; BP422 note out of range; BP423 suspended.
-- Writes:   task_instance, history_event, audit_event; task_comment with a note. Locks: workflow_instance, then task_instance.
create or replace function bpm.resolve_user_task(p_task_id uuid, p_note text default null, p_actor text default null, p_tenant_id text default '')
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
  r_task := bpm_core.lock_to_hand_over(p_tenant_id, p_task_id, null, p_note);
  if r_task.delegation is distinct from 'Pending' or r_task.assignee is distinct from v_actor then
    perform bpm_core.fail('BP409', format('User task %s is not with %s to be handed back.', p_task_id, v_actor),
      jsonb_build_object('claimed_by', r_task.assignee, 'owner', r_task.owner, 'delegation', r_task.delegation));
  end if;
  r_task := bpm_core.hand_over(r_task, r_task.owner, 'Resolved', 'ResolveUserTask', v_actor, p_note);
  if p_note <> '' then
    perform bpm_core.store_comment(p_tenant_id, p_task_id, p_note, v_actor);
  end if;
  return query select p_task_id, 'Done'::bpm.outcome, r_task.assignee, r_task.fencing_token;
end
$$;

-- Whoever holds a user task hands it on, and stays the one who answers it: it comes back with resolve_user_task.
-- Returns:  one row: task_id, outcome Done (also when it was handed on to them already), assignee, owner, fencing_token.
-- Raises:   BP403 no grant, or p_to is excluded; BP404, BP409 the actor does not hold it, or it is no longer open; BP422 to oneself, name or reason out of
--           range; BP423 suspended.
-- Writes:   task_instance, history_event, audit_event. Locks: workflow_instance, then task_instance.
create or replace function bpm.delegate_user_task(p_task_id uuid, p_to text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (task_id uuid, outcome bpm.outcome, assignee text, owner text, fencing_token bigint)
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
  if p_to is null or p_to = v_actor then
    perform bpm_core.fail('BP422', 'A task is handed on to somebody else.', jsonb_build_object('name', p_to));
  end if;
  r_task := bpm_core.lock_to_hand_over(p_tenant_id, p_task_id, p_to, p_reason);
  if not (r_task.delegation = 'Pending' and r_task.owner = v_actor and r_task.assignee = p_to) is true then
    if r_task.assignee is distinct from v_actor then
      perform bpm_core.fail('BP409', format('%s does not hold user task %s.', v_actor, p_task_id), jsonb_build_object('claimed_by', r_task.assignee),
        'Claim it first.');
    elsif r_task.owner = p_to then
      perform bpm_core.fail('BP422', format('%s handed it on; hand it back instead.', p_to), jsonb_build_object('owner', p_to), 'See bpm.resolve_user_task.');
    end if;
    perform bpm_core.check_excluded(r_task, p_to);
    r_task := bpm_core.hand_over(r_task, p_to, 'Pending', 'DelegateUserTask', v_actor, p_reason);
  end if;
  return query select p_task_id, 'Done'::bpm.outcome, r_task.assignee, r_task.owner, r_task.fencing_token;
end
$$;

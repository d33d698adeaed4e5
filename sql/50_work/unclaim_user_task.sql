-- A person gives a user task back.
-- Returns:  one row: task_id, outcome Done, assignee (null), fencing_token.
-- Raises:   BP403, BP404, BP409 somebody else holds it, it is delegated, or it is no longer open.
-- Writes:   task_instance, audit_event. Locks: workflow_instance, so that a tick passes over it while this
--           transaction lasts, then task_instance.
create or replace function bpm.unclaim_user_task(p_task_id uuid, p_actor text default null, p_tenant_id text default '')
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
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  r_task := bpm_core.lock_user_task(p_tenant_id, p_task_id);
  if r_task.assignee is not null then
    if r_task.assignee <> v_actor then
      perform bpm_core.fail('BP409', format('User task %s is claimed by %s.', p_task_id, r_task.assignee),
        jsonb_build_object('claimed_by', r_task.assignee));
    end if;
    if r_task.delegation = 'Pending' then
      perform bpm_core.fail('BP409', format('User task %s was handed on by %s.', p_task_id, r_task.owner), jsonb_build_object('owner', r_task.owner),
        'Hand it back with bpm.resolve_user_task.');
    end if;
    update bpm_core.task_instance t
       set assignee = null, owner = null, delegation = null, fencing_token = t.fencing_token + 1
     where t.tenant_id = p_tenant_id and t.id = p_task_id
    returning t.* into r_task;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'UnclaimUserTask', 'task_instance', p_task_id::text);
  end if;
  return query select p_task_id, 'Done'::bpm.outcome, null::text, r_task.fencing_token;
end
$$;

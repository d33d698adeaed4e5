-- A person takes a user task. The first wins; taking one's own again changes nothing.
-- Returns:  one row: task_id, outcome Done, assignee, fencing_token (for complete_user_task; it grows whenever the task changes hands).
-- Raises:   BP403 no grant, or excluded by the task's exclusion rule (detail names the rule); BP404, BP409 somebody else holds it (detail names them) or it is no longer open.
-- Writes:   task_instance, audit_event. Locks: workflow_instance, so that a tick passes over it while this
--           transaction lasts, then task_instance.
create or replace function bpm.claim_user_task(p_task_id uuid, p_actor text default null, p_tenant_id text default '')
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
  if r_task.assignee is distinct from v_actor then
    if r_task.assignee is not null then
      perform bpm_core.fail('BP409', format('User task %s is claimed by %s.', p_task_id, r_task.assignee),
        jsonb_build_object('claimed_by', r_task.assignee));
    end if;
    perform bpm_core.check_excluded(r_task, v_actor);
    update bpm_core.task_instance t
       set assignee = v_actor, fencing_token = t.fencing_token + 1
     where t.tenant_id = p_tenant_id and t.id = p_task_id
    returning t.* into r_task;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ClaimUserTask', 'task_instance', p_task_id::text);
  end if;
  return query select p_task_id, 'Done'::bpm.outcome, v_actor, r_task.fencing_token;
end
$$;

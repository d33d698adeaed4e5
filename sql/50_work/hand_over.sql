-- Under the locks of instance and task: a user task changes hands. delegation Pending: its holder hands it on and stays its owner; Resolved: it goes back
-- to them; null: it is simply somebody else's, or nobody's.
-- Returns:  task_instance as it is now.
-- Writes:   task_instance, history_event, audit_event.
create or replace function bpm_core.hand_over(p_task bpm_core.task_instance, p_to text, p_delegation text, p_action text, p_actor text, p_reason text)
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
  update bpm_core.task_instance t
     set assignee = p_to, fencing_token = t.fencing_token + 1, delegation = p_delegation,
         owner = case p_delegation when 'Pending' then coalesce(t.owner, p_actor) when 'Resolved' then t.owner end,
         delegates = case when p_delegation = 'Pending' then array(select distinct d from unnest(t.delegates || p_to) d order by d) else t.delegates end
   where t.tenant_id = p_task.tenant_id and t.id = p_task.id
  returning t.* into r_task;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_task.tenant_id, p_task.workflow_instance_id, bpm_core.now(), 'TaskReassigned', p_task.token_id, p_task.node_id, p_actor,
          jsonb_strip_nulls(jsonb_build_object('task', p_task.id, 'from', p_task.assignee, 'to', p_to, 'delegation', p_delegation)));
  perform bpm_core.write_audit(p_task.tenant_id, p_actor, p_action, 'task_instance', p_task.id::text, null, p_reason,
    jsonb_build_object('from', p_task.assignee, 'to', p_to));
  return r_task;
end
$$;

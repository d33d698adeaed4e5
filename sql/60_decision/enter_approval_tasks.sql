-- KIND approval task: the token rests and a decision is asked for. No task exists before it is approved.
-- Returns:  moving[], the message waits of its boundary events. Writes: token, approval_record, history_event; timer where the node has boundary timers.
create or replace function bpm_core.enter_approval_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a.tenant_id, a.instance_id, a.version_id, a.token_id, a.node_id, a.flow_id, t.visit),
  asked as (
    insert into bpm_core.approval_record (tenant_id, id, workflow_instance_id, node_id, token_id, visit, task_type, created_at)
    select r.tenant_id, bpm_core.new_id(), r.instance_id, r.node_id, r.token_id, r.visit, b.task_type, v_now
      from rested r
     cross join lateral (select b.task_type from bpm_core.workflow_task_binding b
                          where b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id offset 0) b
    returning tenant_id, workflow_instance_id, id, token_id, node_id, task_type, visit)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select a.tenant_id, a.workflow_instance_id, v_now, 'ApprovalRequested', a.token_id, a.node_id, 'Pending',
         jsonb_build_object('approval', a.id, 'task_type', a.task_type, 'visit', a.visit)
    from asked a;
  return bpm_core.arm_boundaries(p_arriving);
end
$$;

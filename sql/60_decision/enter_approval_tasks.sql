-- KIND approval task: the token rests and a decision is asked for, of which subscribers hear. No task exists before it is approved. Where those who were to
-- decide may not, the step stops with an incident.
-- Returns:  moving[], the message waits of its boundary events. Writes: token, approval_record, history_event; timer where the node has boundary timers;
--           event_outbox where somebody is subscribed; incident where nobody could decide.
create or replace function bpm_core.enter_approval_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz := bpm_core.now();
  v_asked   bpm_core.approval_record[];
  v_starved bpm_core.approval_record[];
begin
  with rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a.tenant_id, a.instance_id, a.version_id, a.token_id, a.node_id, a.flow_id, t.visit),
  asked as (
    insert into bpm_core.approval_record as r (
      tenant_id, id, workflow_instance_id, node_id, token_id, visit, task_type, created_at, required_approvals, approvers, veto, exclude, excluded_actors,
      expires_at, remind_every, remind_at, escalate_to, escalate_at, due_at, approver_groups)
    select r.tenant_id, bpm_core.new_id(), r.instance_id, r.node_id, r.token_id, r.visit, b.task_type, v_now, p.required, p.approvers, p.veto, p.exclude,
           p.excluded_actors, p.expires_at, p.remind_every, p.remind_at, p.escalate_to, p.escalate_at, least(p.expires_at, p.remind_at, p.escalate_at),
           p.approver_groups
      from rested r
     cross join lateral (select b.task_type, b.approval from bpm_core.workflow_task_binding b
                          where b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id offset 0) b
     cross join lateral bpm_core.approval_terms(b.approval, v_now) p
    returning r.*),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select a.tenant_id, a.workflow_instance_id, v_now, 'ApprovalRequested', a.token_id, a.node_id, 'Pending',
           jsonb_build_object('approval', a.id, 'task_type', a.task_type, 'visit', a.visit)
      from asked a)
  select array_agg(a::bpm_core.approval_record) into v_asked from asked a;
  perform bpm_core.emit_approvals((p_arriving[1]).tenant_id, 'ApprovalRequested', v_asked);
  if not exists (select from unnest(v_asked) a where a.approvers is not null) then
    return bpm_core.arm_boundaries(p_arriving);
  end if;
  v_starved := array(select a from unnest(v_asked) a where (bpm_core.vote_outcome(a)).starved);
  perform bpm_core.stop_starved((p_arriving[1]).tenant_id, array(select a.id from unnest(v_starved) a));
  return bpm_core.arm_boundaries(array(select m from unnest(p_arriving) m where m.token_id <> all (array(select a.token_id from unnest(v_starved) a))));
end
$$;

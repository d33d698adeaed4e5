-- Under the locks of their instances: lets decided approvals take effect, each exactly once. Approved offers the task; Rejected and Expired
-- raise the BPMN error ApprovalRejected where the token rests; where nobody catches it the instance fails (bury_rejections).
-- A decision whose token has left in the meantime (a timer, an error) is void: Applied without effect. One of a suspended instance waits.
-- Give it at most one approval per instance: the first may end what the second stands on.
-- Returns:  integer, how many are Applied now.
-- Writes:   approval_record, workflow_instance, history_event, and what the effect writes.
create or replace function bpm_core.apply_decisions(p_tenant_id text, p_approvals uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_decided  bpm_core.decided_approval[];
  v_uncaught bpm_core.thrown[];
begin
  with due as materialized (
    select a.tenant_id, a.id, a.status, a.node_id, a.decided_by, a.note, a.workflow_instance_id as instance_id, w.workflow_version_id, t.scope_id, a.token_id,
           t.state = 'Waiting' and t.node_id = a.node_id and t.visit = a.visit as standing
      from unnest(p_approvals) i(id)
     cross join lateral (select a.* from bpm_core.approval_record a where a.tenant_id = p_tenant_id and a.id = i.id offset 0) a
     cross join lateral (select w.workflow_version_id, w.status from bpm_core.workflow_instance w
                          where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id offset 0) w
     cross join lateral (select t.scope_id, t.state, t.node_id, t.visit from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) t
     where a.effect = 'Pending' and a.status in ('Approved', 'Rejected', 'Expired') and w.status <> 'Suspended'),
  applied as (
    update bpm_core.approval_record a
       set effect = 'Applied'
      from due d
     where a.tenant_id = d.tenant_id and a.id = d.id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
    select d.tenant_id, d.instance_id, bpm_core.now(), 'ApprovalApplied', d.token_id, d.node_id, 'Pending', 'Applied',
           jsonb_build_object('approval', d.id, 'status', d.status) || case when d.standing then '{}'::jsonb else '{"void": true}'::jsonb end
      from due d)
  select array_agg(row(d.id, d.status, row(d.tenant_id, d.instance_id, d.workflow_version_id, d.scope_id, d.token_id, d.node_id, null, null)::bpm_core.moving,
                       d.standing, d.decided_by, d.note)::bpm_core.decided_approval)
    into v_decided
    from due d;
  perform bpm_core.bump_instances(p_tenant_id, array(select (d.token).instance_id from unnest(v_decided) d));
  perform bpm_core.offer_tasks(p_tenant_id, array(
    select (d.token).token_id from unnest(v_decided) d where d.standing and d.status = 'Approved'));
  v_uncaught := bpm_core.raise_errors(array(
    select row(d.n, d.token, 'ApprovalRejected', d.note)::bpm_core.thrown
      from unnest(v_decided) with ordinality d(approval_id, status, token, standing, decided_by, note, n)
     where d.standing and d.status <> 'Approved'));
  perform bpm_core.bury_rejections(p_tenant_id, array(select v_decided[u.handle] from unnest(v_uncaught) u));
  return coalesce(cardinality(v_decided), 0);
end
$$;

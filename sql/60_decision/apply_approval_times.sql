-- Under the locks of their instances: what is due of these approvals by now. Expiry comes before everything else, and is recorded as a decision of
-- bpm:expiry; of one instance one takes effect at once, the others follow by themselves. Subscribers hear of all of it.
-- Returns:  integer, how many changed.
-- Writes:   approval_record, history_event, event_outbox, and what apply_decisions and stop_starved write.
create or replace function bpm_core.apply_approval_times(p_tenant_id text, p_approvals uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_due bpm_core.approval_record[];
begin
  v_due := array(
    select a::bpm_core.approval_record
      from (select p_tenant_id as tenant_id, k.id from unnest(p_approvals) k(id) offset 0) k
     cross join lateral (select a.* from bpm_core.approval_record a where a.tenant_id = k.tenant_id and a.id = k.id offset 0) a
     cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id offset 0) w
     where a.status = 'Pending' and a.due_at <= p_now and w.status = 'Running');
  with turn as materialized (
    select d.*, d.expires_at <= p_now is true as is_expired, d.escalate_at <= p_now is true as escalates,
           case when d.remind_at <= p_now then d.remind_at + d.remind_every * (floor(extract(epoch from p_now - d.remind_at) / extract(epoch from d.remind_every)) + 1) end as remind_next
      from unnest(v_due) d),
  changed as (
    update bpm_core.approval_record a
       set status = case when t.is_expired then 'Expired' else a.status end,
           claimed_by = case when t.is_expired then '{}' else a.claimed_by end,
           decided_by = case when t.is_expired then 'bpm:expiry' end, decided_at = case when t.is_expired then p_now end,
           escalated_at = case when t.escalates and not t.is_expired then p_now else a.escalated_at end,
           escalate_at = case when t.escalates and not t.is_expired then null else a.escalate_at end,
           reminded = a.reminded + (t.remind_next is not null and not t.is_expired)::integer,
           remind_at = case when t.is_expired then a.remind_at else coalesce(t.remind_next, a.remind_at) end,
           due_at = case when t.is_expired then a.due_at
                         else least(a.expires_at, coalesce(t.remind_next, a.remind_at), case when not t.escalates then a.escalate_at end) end
      from turn t
     where a.tenant_id = t.tenant_id and a.id = t.id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  select t.tenant_id, t.workflow_instance_id, p_now, x.kind::bpm_core.history_kind, t.token_id, t.node_id, x.from_state, x.to_state, x.actor,
         jsonb_build_object('approval', t.id) || x.more
    from turn t
   cross join lateral (values
     (1, t.is_expired, 'ApprovalDecided', 'Pending', 'Expired', 'bpm:expiry', '{}'::jsonb),
     (2, t.escalates and not t.is_expired, 'ApprovalEscalated', null, null, null, jsonb_build_object('to', t.escalate_to)),
     (3, t.remind_next is not null and not t.is_expired, 'ApprovalReminded', null, null, null, jsonb_build_object('reminder', t.reminded + 1))
     ) x(n, holds, kind, from_state, to_state, actor, more)
   where x.holds
   order by t.id, x.n;
  perform bpm_core.tell_of_times(p_tenant_id, v_due, p_now);
  perform bpm_core.apply_decisions(p_tenant_id, array(
    select distinct on (d.workflow_instance_id) d.id from unnest(v_due) d where d.expires_at <= p_now order by d.workflow_instance_id, d.id));
  -- Who may decide can have become fewer since it was asked: somebody did an earlier task.
  perform bpm_core.stop_starved(p_tenant_id, array(
    select a.id
      from (select p_tenant_id as tenant_id, d.id from unnest(v_due) d where d.approvers is not null offset 0) d
     cross join lateral (select a.* from bpm_core.approval_record a where a.tenant_id = d.tenant_id and a.id = d.id offset 0) a
     where a.status = 'Pending' and (bpm_core.vote_outcome(a::bpm_core.approval_record)).starved));
  return coalesce(cardinality(v_due), 0);
end
$$;

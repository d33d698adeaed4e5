-- Tells subscribers what time did to these approvals, which are as they were before: escalated them, reminded of them, or expired them.
-- Writes:   event_outbox, where somebody is subscribed.
create or replace function bpm_core.tell_of_times(p_tenant_id text, p_due bpm_core.approval_record[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_open    bpm_core.approval_record[] := array(select d from unnest(p_due) d where d.expires_at <= p_now is not true order by d.id);
  v_expired bpm_core.approval_record[] := array(select d from unnest(p_due) d where d.expires_at <= p_now order by d.id);
begin
  perform bpm_core.emit_approvals(p_tenant_id, 'ApprovalEscalated',
    array(select d from unnest(v_open) d where d.escalate_at <= p_now order by d.id),
    array(select jsonb_build_object('to', d.escalate_to) from unnest(v_open) d where d.escalate_at <= p_now order by d.id));
  perform bpm_core.emit_approvals(p_tenant_id, 'ApprovalReminded',
    array(select d from unnest(v_open) d where d.remind_at <= p_now order by d.id),
    array(select jsonb_build_object('reminder', d.reminded + 1) from unnest(v_open) d where d.remind_at <= p_now order by d.id));
  perform bpm_core.emit_events(p_tenant_id, 'ApprovalDecided', array(select d.workflow_instance_id from unnest(v_expired) d),
    array(select jsonb_build_object('approval', d.id, 'node', d.node_id, 'decision', 'Expired', 'actor', 'bpm:expiry') from unnest(v_expired) d));
end
$$;

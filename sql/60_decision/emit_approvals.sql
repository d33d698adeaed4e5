-- Tells subscribers of approvals, so that they can tell the people: who is asked, by when. p_details: what else there is to say of each.
-- Writes:   event_outbox, where somebody is subscribed. The instances are locked.
create or replace function bpm_core.emit_approvals(p_tenant_id text, p_type text, p_approvals bpm_core.approval_record[], p_details jsonb[] default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(cardinality(p_approvals), 0) = 0 then
    return;
  end if;
  perform bpm_core.emit_events(p_tenant_id, p_type,
    array(select a.workflow_instance_id from unnest(p_approvals) with ordinality a order by a.ordinality),
    array(select jsonb_strip_nulls(jsonb_build_object('approval', a.id, 'node', a.node_id, 'task_type', a.task_type, 'required', a.required_approvals,
                   'approvers', a.approvers, 'approver_groups', a.approver_groups, 'claimed_by', nullif(a.claimed_by, '{}'), 'expires_at', a.expires_at))
                 || coalesce(p_details[a.ordinality], '{}')
            from unnest(p_approvals) with ordinality a
           order by a.ordinality));
end
$$;

-- Under the lock: marks an incident resolved and drives what it stopped.
-- Writes:   incident, dead_letter, audit_event, history_event, inbox, and what revive_task or the path ahead writes.
create or replace function bpm_core.drive_incident(p_incident bpm_core.incident, p_attempts integer, p_actor text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.incident i
     set state = 'Resolved', resolved_at = v_now, resolved_by = p_actor
   where i.tenant_id = p_incident.tenant_id and i.id = p_incident.id;
  update bpm_core.dead_letter d
     set state = case when d.kind in ('Task', 'Inbox') then 'Requeued' else 'Discarded' end::bpm_core.dead_letter_state, closed_at = v_now, closed_by = p_actor
    from (select o.tenant_id, o.id, o.state from bpm_core.dead_letter o where o.incident_id = p_incident.id offset 0) o
   where o.state = 'Open' and d.tenant_id = o.tenant_id and d.id = o.id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_incident.tenant_id, p_incident.workflow_instance_id, v_now, 'IncidentResolved', p_incident.token_id, p_incident.node_id, p_actor,
          jsonb_build_object('incident', p_incident.id, 'code', p_incident.code));
  perform bpm_core.write_audit(p_incident.tenant_id, p_actor, 'ResolveIncident', 'incident', p_incident.id::text, null, null,
    jsonb_build_object('attempts', p_attempts, 'code', p_incident.code));
  perform bpm_core.bump_instances(p_incident.tenant_id, array[p_incident.workflow_instance_id]);
  if bpm_core.revive_task(p_incident.tenant_id, (p_incident.detail ->> 'task')::uuid, p_attempts, p_actor) or bpm_core.redo_outputs(p_incident, p_actor)
     or bpm_core.redo_scope_outputs(p_incident) or bpm_core.redo_start(p_incident, p_actor) then
    return;
  end if;
  -- The node is entered anew, so what it offered the first time (a task whose boundary timer was wrong) goes.
  perform bpm_core.close_waits(array(
    select row(t.tenant_id, t.workflow_instance_id, null, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
      from bpm_core.token t
     where t.tenant_id = p_incident.tenant_id and t.id = p_incident.token_id and t.state = 'Failed'));
  update bpm_core.token t
     set state = 'Ready', ready_at = v_now, attempt = t.attempt + 1, steps = 0, version = t.version + 1, updated_at = v_now
   where t.tenant_id = p_incident.tenant_id and t.id = p_incident.token_id and t.state = 'Failed';
  perform bpm_core.resume_tokens(p_incident.tenant_id, array[p_incident.token_id]);
  if p_incident.code = 'InboxPoisoned' then
    perform bpm_core.revive_inbox(p_incident);
  elsif p_incident.code = 'JoinStarved' then
    perform bpm_core.note_starved_joins(array[row(p_incident.tenant_id, p_incident.workflow_instance_id, null, (p_incident.detail ->> 'scope')::uuid, null, null,
                                                  null, null)::bpm_core.moving]);
  end if;
end
$$;

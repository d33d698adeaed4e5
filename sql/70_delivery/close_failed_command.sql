-- A command that failed is sent again as another: its incident is resolved, its dead letter requeued. Should that fail, too, it has an incident of its own.
-- The instance is locked.
-- Writes:   incident, dead_letter, history_event.
create or replace function bpm_core.close_failed_command(p_command bpm_core.outbox, p_actor text, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with letter as materialized (
    select d.tenant_id, d.id, d.incident_id
      from (select d.tenant_id, d.id, d.incident_id, d.state from bpm_core.dead_letter d where d.outbox_id = p_command.id offset 0) d
     where d.tenant_id = p_command.tenant_id and d.state = 'Open'),
  requeued as (
    update bpm_core.dead_letter d
       set state = 'Requeued', closed_by = p_actor, closed_at = p_now
      from letter l
     where d.tenant_id = l.tenant_id and d.id = l.id),
  resolved as (
    update bpm_core.incident i
       set state = 'Resolved', resolved_at = p_now, resolved_by = p_actor
      from letter l
     where i.tenant_id = l.tenant_id and i.id = l.incident_id and i.state = 'Open'
    returning i.tenant_id, i.workflow_instance_id, i.id, i.node_id, i.code)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, actor, detail)
  select r.tenant_id, r.workflow_instance_id, p_now, 'IncidentResolved', r.node_id, p_actor, jsonb_build_object('incident', r.id, 'code', r.code)
    from resolved r;
end
$$;

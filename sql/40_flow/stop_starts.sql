-- Opens the incidents of workflows of several that can neither begin nor be skipped.
-- Writes:   incident, history_event.
create or replace function bpm_core.stop_starts(p_tenant_id text, p_due bpm_core.due_binding[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with stopped as materialized (
    select d.workflow_instance_id, bpm_core.new_id() as incident_id, d.code, d.message, d.detail from unnest(p_due) d),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, code, message, detail, created_at)
    select p_tenant_id, s.incident_id, s.workflow_instance_id, s.code, s.message, s.detail, p_now
      from stopped s)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, detail)
  select p_tenant_id, s.workflow_instance_id, p_now, 'IncidentOpened', jsonb_build_object('incident', s.incident_id, 'code', s.code, 'message', s.message)
    from stopped s;
end
$$;

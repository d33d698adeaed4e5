-- Buries inbox rows that cannot be applied: dead letter and incident, no token stopped; that of a process at the workflow it hears of. Resolving the incident puts the row back (revive_inbox).
-- Writes:   incident, dead_letter, history_event. The rows themselves are deleted by the caller.
create or replace function bpm_core.bury_inbox(p_tenant_id text, p_rows bpm_core.inbox[], p_error text)
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
  with poison as materialized (
    select case when r.target_kind <> 'WorkflowInstance' then (r.payload ->> 'workflow')::uuid else r.target_id end as target_id, r.kind, r.payload,
           bpm_core.new_id() as incident_id from unnest(p_rows) r),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, code, message, detail, created_at)
    select p_tenant_id, p.incident_id, p.target_id, 'InboxPoisoned', format('A %s could not be applied: %s', lower(p.kind), p_error),
           p.payload || jsonb_build_object('inbox', p.kind), v_now
      from poison p),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, detail)
    select p_tenant_id, p.target_id, v_now, 'IncidentOpened', jsonb_build_object('incident', p.incident_id, 'code', 'InboxPoisoned', 'message', p_error)
      from poison p)
  insert into bpm_core.dead_letter (tenant_id, id, workflow_instance_id, incident_id, kind, error, payload, created_at)
  select p_tenant_id, bpm_core.new_id(), p.target_id, p.incident_id, 'Inbox', to_jsonb(p_error), p.payload, v_now
    from poison p;
end
$$;

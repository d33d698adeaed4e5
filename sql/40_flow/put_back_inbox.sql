-- Puts inbox rows that could not be applied back with a growing delay; the tenth time they are buried: dead letter and incident, no token stopped.
-- Writes:   inbox; incident, dead_letter, history_event.
create or replace function bpm_core.put_back_inbox(p_tenant_id text, p_rows bpm_core.inbox[], p_error text)
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
  update bpm_core.inbox i
     set attempts = i.attempts + 1, last_error = p_error, available_at = v_now + interval '1 second' * power(2, least(i.attempts, 8))
    from unnest(p_rows) r
   where i.tenant_id = r.tenant_id and i.id = r.id;
  with poison as materialized (
    delete from bpm_core.inbox i
     using unnest(p_rows) r
     where i.tenant_id = r.tenant_id and i.id = r.id and i.attempts >= 10
    returning i.*, bpm_core.new_id() as incident_id),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, code, message, detail, created_at)
    select p_tenant_id, p.incident_id, p.target_id, 'InboxPoisoned', format('A %s could not be applied: %s', lower(p.kind), p_error), p.payload || jsonb_build_object('inbox', p.kind), v_now
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

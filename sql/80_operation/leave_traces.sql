-- Writes down what is about to be removed.
-- p_audit_id: the row of the audit that will tell of it.
-- Writes:   removed_instance.
create or replace function bpm_core.leave_traces(p_tenant_id text, p_going bpm_core.removable[], p_audit_id uuid, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.removed_instance (tenant_id, id, process_version_id, workflow_instances, business_key, status, created_at, ended_at, removed_at, seq, audit_id)
  select p.tenant_id, p.id, p.process_version_id, g.workflow_instances, p.business_key, p.status, p.created_at, p.ended_at, p_now,
         nextval('bpm_core.history_event_seq_seq'), p_audit_id
    from (select p_tenant_id as tenant_id, g.* from unnest(p_going) g offset 0) g
   cross join lateral (select p.* from bpm_core.process_instance p where p.tenant_id = g.tenant_id and p.id = g.process_instance_id offset 0) p;
end
$$;

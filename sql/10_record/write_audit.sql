-- Records one administrative or human action, in the transaction that does it.
-- Returns:  nothing. Writes audit_event. The trace id is the caller's setting bpm.trace_id, if any, its first 200 characters.
create or replace function bpm_core.write_audit(
  p_tenant_id text, p_actor text, p_action text, p_aggregate_type text, p_aggregate_id text,
  p_aggregate_version integer default null, p_reason text default null, p_detail jsonb default '{}')
returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into bpm_core.audit_event (tenant_id, id, actor, action, aggregate_type, aggregate_id, aggregate_version, trace_id, reason, detail, at)
  values (p_tenant_id, bpm_core.new_id(), p_actor, p_action, p_aggregate_type, p_aggregate_id, p_aggregate_version,
          left(nullif(current_setting('bpm.trace_id', true), ''), 200), p_reason, coalesce(p_detail, '{}'), bpm_core.now())
$$;

-- Failed commands: an incident and a dead letter each. The token has moved on long ago, so the incident stops nothing and carries no token.
-- Writes:   incident, dead_letter, history_event.
create or replace function bpm_core.bury_commands(p_tenant_id text, p_failed bpm_core.command_move[])
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
  if cardinality(p_failed) = 0 then
    return;
  end if;
  with buried as materialized (
    select o.tenant_id, bpm_core.new_id() as incident_id, o.workflow_instance_id, o.node_id, o.id, o.payload, m.failure,
           format('Command %s to %s at %s failed in attempt %s of %s: %s.', o.command_id, o.destination_code, o.node_id, o.attempt, o.max_attempts,
                  m.failure) as message,
           jsonb_build_object('command', o.command_id, 'destination', o.destination_code, 'attempt', o.attempt, 'error', o.last_error,
                              'may_have_arrived', o.first_sent_at is not null) as detail
      from (select p_tenant_id as tenant_id, m.* from unnest(p_failed) m offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.id = m.outbox_id),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, node_id, code, message, detail, created_at)
    select b.tenant_id, b.incident_id, b.workflow_instance_id, b.node_id, b.failure, b.message, b.detail, v_now
      from buried b),
  kept as (
    insert into bpm_core.dead_letter (tenant_id, id, workflow_instance_id, outbox_id, incident_id, kind, error, payload, created_at)
    select b.tenant_id, bpm_core.new_id(), b.workflow_instance_id, b.id, b.incident_id, 'Command',
           b.detail || jsonb_build_object('code', b.failure), b.payload, v_now
      from buried b)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, detail)
  select b.tenant_id, b.workflow_instance_id, v_now, 'IncidentOpened', b.node_id,
         jsonb_build_object('incident', b.incident_id, 'code', b.failure, 'message', b.message)
    from buried b;
end
$$;

-- Numbers for monitoring: what is open in one tenant. Each is counted along its own small index, and no further than counted_to.
-- Returns:  jsonb {at, counted_to, tasks, tokens, timers, inbox, messages, approvals, commands, destinations, domain_events, events, incidents,
--           dead_letters, rows (estimates over all tenants, for the tenant without a name only)}.
-- Raises:   BP403.
create or replace function bpm.metrics(p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cap constant integer := 10000;
  v_now timestamptz := bpm_core.now();
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return jsonb_strip_nulls(jsonb_build_object(
    'at', v_now,
    'counted_to', v_cap,
    'tasks', jsonb_build_object(
      'ready', bpm_core.count_ready(p_tenant_id, v_cap),
      'executing', (select count(*) from (select from bpm_core.task_instance t where t.state = 'Executing' and t.tenant_id = p_tenant_id limit v_cap) c),
      'oldest_ready_seconds', round(extract(epoch from greatest(v_now - bpm_core.oldest_ready(p_tenant_id), interval '0')), 3)),
    'tokens', jsonb_build_object(
      'ready', (select count(*) from (select from bpm_core.token t where t.state = 'Ready' and t.tenant_id = p_tenant_id limit v_cap) c)),
    'timers', jsonb_build_object(
      'scheduled', (select count(*) from (select from bpm_core.timer t where t.status = 'Scheduled' and t.tenant_id = p_tenant_id limit v_cap) c),
      'due', (select count(*) from (select from bpm_core.timer t where t.status = 'Scheduled' and t.tenant_id = p_tenant_id and t.due_at <= v_now limit v_cap) c)),
    'inbox', (select count(*) from (select from bpm_core.inbox i where i.tenant_id = p_tenant_id limit v_cap) c),
    'messages', jsonb_build_object(
      'buffered', (select count(*) from (select from bpm_core.message m where m.state = 'Buffered' and m.expires_at is not null and m.tenant_id = p_tenant_id limit v_cap) c)),
    'approvals', jsonb_build_object(
      'pending', (select count(*) from (select from bpm_core.approval_record a where a.status = 'Pending' and a.tenant_id = p_tenant_id limit v_cap) c)),
    'commands', jsonb_build_object(
      'pending', (select count(*) from (select from bpm_core.outbox o where o.state = 'Pending' and o.tenant_id = p_tenant_id limit v_cap) c),
      'sending', (select count(*) from (select from bpm_core.outbox o where o.state = 'Sending' and o.tenant_id = p_tenant_id limit v_cap) c),
      'unknown', (select count(*) from (select from bpm_core.outbox o where o.state = 'Unknown' and o.tenant_id = p_tenant_id limit v_cap) c)),
    'destinations', jsonb_build_object(
      'open', (select count(*) from (select from bpm_core.destination_gate g where g.state = 'Open' and g.tenant_id = p_tenant_id limit v_cap) c),
      'half_open', (select count(*) from (select from bpm_core.destination_gate g where g.state = 'HalfOpen' and g.tenant_id = p_tenant_id limit v_cap) c)),
    'domain_events', jsonb_build_object(
      'pending', (select count(*) from (select from bpm_core.event_outbox e where e.state = 'Pending' and e.tenant_id = p_tenant_id limit v_cap) c),
      'most_behind', (select max(t.last_no - s.cursor_no) from bpm_core.event_stream t
                        join bpm_core.event_subscription s on s.tenant_id = t.tenant_id and s.ended_at is null
                       where t.tenant_id = p_tenant_id)),
    'events', jsonb_build_object(
      'pending', (select count(*) from (select from bpm_core.event e where e.dispatch_state = 'Pending' and e.tenant_id = p_tenant_id limit v_cap) c),
      'waiting', (select count(*) from (select from bpm_core.event e where e.rules_version is not null and e.tenant_id = p_tenant_id limit v_cap) c)),
    'incidents', jsonb_build_object(
      'open', (select count(*) from (select from bpm_core.incident i where i.state = 'Open' and i.tenant_id = p_tenant_id limit v_cap) c)),
    'dead_letters', jsonb_build_object(
      'open', (select count(*) from (select from bpm_core.dead_letter d where d.state = 'Open' and d.tenant_id = p_tenant_id limit v_cap) c)),
    'rows', case when p_tenant_id = '' then bpm_core.size_estimates() end));
end
$$;

-- ready(): what waits in one tenant: work nobody takes, time nobody keeps, and what only a person can mend. Warnings all.
-- Returns:  health_check rows.
create or replace function bpm_core.backlog_checks(p_tenant_id text)
returns setof bpm_core.health_check
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_ready numeric := coalesce(extract(epoch from v_now - bpm_core.oldest_ready(p_tenant_id)), 0);
  v_due   numeric;
  v_count bigint;
  v_open  jsonb;
begin
  return next row('ready_tasks', v_ready < 900, false, jsonb_build_object('oldest_seconds', round(greatest(v_ready, 0), 1)))::bpm_core.health_check;
  select coalesce(extract(epoch from v_now - least(
           (select t.due_at from bpm_core.timer t where t.status = 'Scheduled' and t.tenant_id = p_tenant_id order by t.due_at limit 1),
           (select i.available_at from bpm_core.inbox i where i.tenant_id = p_tenant_id and i.available_at < 'infinity' order by i.available_at limit 1),
           (select t.lease_until from bpm_core.task_instance t where t.state = 'Executing' and t.tenant_id = p_tenant_id order by t.lease_until limit 1),
           (select e.created_at from bpm_core.event_outbox e where e.state = 'Pending' and e.tenant_id = p_tenant_id order by e.seq limit 1),
           (select e.available_at from bpm_core.event e where e.dispatch_state = 'Pending' and e.tenant_id = p_tenant_id and e.available_at < 'infinity' order by e.available_at limit 1),
           (select t.ready_at from bpm_core.token t where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.ready_at < 'infinity' order by t.ready_at limit 1))), 0)
    into v_due;
  return next row('tick', v_due < 300, false,
    jsonb_build_object('overdue_seconds', round(greatest(v_due, 0), 1), 'remedy', 'a runner, or bpm.tick()'))::bpm_core.health_check;
  select count(*) into v_count
    from (select from bpm_core.dead_letter d where d.state = 'Open' and d.tenant_id = p_tenant_id limit 1000) c;
  return next row('dead_letters', v_count = 0, false, jsonb_build_object('open', v_count))::bpm_core.health_check;
  select count(*) into v_count
    from (select from bpm_core.incident i where i.state = 'Open' and i.tenant_id = p_tenant_id limit 1000) c;
  return next row('incidents', v_count = 0, false, jsonb_build_object('open', v_count))::bpm_core.health_check;
  select count(*) into v_count
    from (select from bpm_core.outbox o where o.state = 'Unknown' and o.tenant_id = p_tenant_id limit 1000) c;
  return next row('unknown_commands', v_count = 0, false,
    jsonb_build_object('unknown', v_count, 'remedy', 'bpm.reconcile_command()'))::bpm_core.health_check;
  select coalesce(jsonb_agg(d.code order by d.code), '[]') into v_open
    from bpm_core.destination_gate g
   cross join lateral (select d.code from bpm_core.destination d where d.tenant_id = g.tenant_id and d.id = g.destination_id offset 0) d
   where g.tenant_id = p_tenant_id and g.state <> 'Closed';
  return next row('destinations', v_open = '[]', false,
    jsonb_build_object('open', v_open, 'remedy', 'see bpm.destination; bpm.turn_destination()'))::bpm_core.health_check;
  return next bpm_core.subscriber_check(p_tenant_id);
  select count(*) into v_count
    from (select from bpm_core.event e where e.rules_version is not null and e.tenant_id = p_tenant_id limit 1000) c;
  return next row('waiting_events', v_count = 0, false,
    jsonb_build_object('waiting', v_count, 'remedy', 'bpm.set_routing_rule() or bpm.dispatch_event(); the view bpm.event says what each waits for'))::bpm_core.health_check;
end
$$;

-- Sends a signal to every wait of the tenant that is open for it: an inbox row each, for tick to apply under the locks of their instances; and starts
-- every process that has a start event for it: an instance each, which goes on with the next tick.
-- Waits are read without a lock: one that closes meanwhile does not get it, one that opens later does not either. It begins where the last signal of
-- the name found that nothing before is open any more (safe_signal); a wait never opens again, and never changes its name.
-- Returns:  signal, with the number of receivers.
-- Raises:   BP429 more than 100,000 receivers.
-- Writes:   signal, inbox, and what insert_starts and park_tokens write.
create or replace function bpm_core.send_signal(p_tenant_id text, p_name text, p_payload jsonb)
returns bpm_core.signal
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_limit  constant integer := 100000;
  v_server constant bigint := (select c.system_identifier from pg_control_system() c);
  v_from   constant xid8 := bpm_core.safe_signal(p_tenant_id, p_name, v_server);
  v_signal bpm_core.signal;
  v_starts bpm_core.start[];
begin
  v_signal := row(p_tenant_id, bpm_core.new_id(), p_name, p_payload, 0, bpm_core.now(), null, v_server)::bpm_core.signal;
  with open as materialized (
    select s.tenant_id, s.id, s.workflow_instance_id, s.opened_by
      from bpm_core.subscription s
     where s.state = 'Open' and s.kind = 'Signal' and s.workflow_instance_id is not null and s.name = p_name and s.opened_by >= v_from
       and s.tenant_id is not distinct from p_tenant_id
     limit v_limit + 1),
  sent as (
    insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
    select o.tenant_id, bpm_core.new_id(), 'WorkflowInstance', o.workflow_instance_id, 'Signal',
           jsonb_build_object('signal', v_signal.id, 'subscription', o.id), bpm_core.now()
      from open o)
  -- Of the snapshot that looked: whoever ran then may have opened what it did not see.
  select count(*)::integer, least(min(o.opened_by), pg_snapshot_xmin(pg_current_snapshot())) into v_signal.receivers, v_signal.safe_from
    from open o;
  if v_signal.receivers > v_limit then
    perform bpm_core.fail('BP429', format('Signal %s has more than %s receivers.', p_name, v_limit), jsonb_build_object('signal', p_name, 'limit', v_limit));
  end if;
  v_starts := array(
    select bpm_core.triggered_start(s.tenant_id, s.process_version_id, s.node_id, p_payload, null, jsonb_build_object('signal', v_signal.id, 'name', p_name))
      from bpm_core.subscription s
     where s.state = 'Open' and s.kind = 'Signal' and s.process_version_id is not null and s.name = p_name and s.tenant_id is not distinct from p_tenant_id
     order by s.created_at, s.id
     limit v_limit);
  if cardinality(v_starts) > 0 then
    -- Not driven here: a process that throws the signal it is started by would never let this end.
    perform bpm_core.park_tokens(bpm_core.follow_flows(bpm_core.insert_starts(p_tenant_id, v_starts, bpm_core.caller(), v_signal.sent_at)), 0);
    v_signal.receivers := v_signal.receivers + cardinality(v_starts);
  end if;
  perform bpm_core.wake_sleepers('tick', p_tenant_id);
  insert into bpm_core.signal select v_signal.*;
  return v_signal;
end
$$;

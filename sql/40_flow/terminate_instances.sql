-- Ends instances with everything in them: live tokens Terminated, what waits on them closed, unsent commands cancelled, status set.
-- Writes:   token, scope, everything close_waits writes, outbox, workflow_instance, process_instance, history_event. The instances are locked.
create or replace function bpm_core.terminate_instances(p_tenant_id text, p_instances uuid[], p_status bpm_core.workflow_status, p_detail jsonb default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_hosts bpm_core.moving[];
  v_bare  uuid[];
begin
  if coalesce(cardinality(p_instances), 0) = 0 then
    return;
  end if;
  with live as materialized (
    select t.tenant_id, t.id
      from unnest(p_instances) i(id)
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.token t where t.workflow_instance_id = i.id offset 0) t
     where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Waiting', 'Failed')),
  ended as (
    update bpm_core.token t
       set state = 'Terminated', ready_at = null, version = t.version + 1, updated_at = v_now
      from live l
     where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.workflow_instance_id, t.scope_id, t.id, t.node_id, t.via_flow_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
    select p_tenant_id, e.workflow_instance_id, v_now, 'TokenTerminated', e.id, e.node_id, 'Terminated'
      from ended e)
  select array_agg(row(p_tenant_id, e.workflow_instance_id, null, e.scope_id, e.id, e.node_id, e.via_flow_id, null)::bpm_core.moving)
    into v_hosts
    from ended e;
  perform bpm_core.cancel_scopes(p_tenant_id, array(
    select s.id
      from unnest(p_instances) i(id)
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.workflow_instance_id = i.id offset 0) s
     where s.tenant_id = p_tenant_id and s.state = 'Open'));
  perform bpm_core.close_waits(v_hosts);
  -- One without a token: a workflow of several that could not begin.
  v_bare := array(select i.id from unnest(p_instances) i(id) where not exists (select from unnest(v_hosts) h where h.instance_id = i.id));
  if cardinality(v_bare) > 0 then
    perform bpm_core.close_incidents(array(select row(p_tenant_id, b.id, null, null, null, null, null, null)::bpm_core.moving from unnest(v_bare) b(id)));
  end if;
  perform bpm_core.cancel_commands(p_tenant_id, p_instances);
  -- Messages set aside while it was suspended go back to where they came from.
  perform bpm_core.free_inbox(p_tenant_id, i.id, null) from unnest(p_instances) i(id);
  v_now := bpm_core.now();
  update bpm_core.workflow_instance w
     set status = p_status, live_tokens = 0, ended_at = v_now
    from (select p_tenant_id as tenant_id, i.* from unnest(p_instances) i(id) offset 0) i
   where w.tenant_id = i.tenant_id and w.id = i.id;
  perform bpm_core.end_instances(p_tenant_id, p_instances, p_status, v_now, p_detail);
end
$$;

-- Stops tokens that cannot go on: each becomes Failed (still live) where it stands, with one incident that says why.
-- Returns:  the incidents. Writes: token, incident, history_event. The instances are locked.
create or replace function bpm_core.open_incidents(p_troubles bpm_core.trouble[])
returns setof bpm_core.incident
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if coalesce(cardinality(p_troubles), 0) = 0 then
    return;
  end if;
  return query
  with stopped as (
    update bpm_core.token t
       set node_id = (x.token).node_id, via_flow_id = (x.token).flow_id, state = 'Failed', ready_at = null, version = t.version + 1, updated_at = v_now
      from unnest(p_troubles) x
     where t.tenant_id = (x.token).tenant_id and t.id = (x.token).token_id
    returning t.tenant_id, t.workflow_instance_id, t.id as token_id, t.node_id, bpm_core.new_id() as incident_id, x.code, x.message, x.detail),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select s.tenant_id, s.workflow_instance_id, v_now, 'IncidentOpened', s.token_id, s.node_id, 'Failed',
           jsonb_build_object('incident', s.incident_id, 'code', s.code, 'message', s.message)
      from stopped s)
  insert into bpm_core.incident as i (tenant_id, id, workflow_instance_id, token_id, node_id, code, message, detail, created_at)
  select s.tenant_id, s.incident_id, s.workflow_instance_id, s.token_id, s.node_id, s.code, s.message, coalesce(s.detail, '{}'), v_now
    from stopped s
  returning i.*;
end
$$;

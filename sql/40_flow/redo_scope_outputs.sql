-- Evaluates the output mappings of an ended sub-process again: what resolving their incident means. What is inside is not done twice.
-- The instance is locked and the incident resolved. If they still cannot be evaluated the token stops again at once.
-- Returns:  boolean, whether the incident was about such mappings.
-- Writes:   as map_scope_outputs, and what the path ahead writes.
create or replace function bpm_core.redo_scope_outputs(p_incident bpm_core.incident)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_host    bpm_core.moving;
  v_leaving bpm_core.moving[];
begin
  if not p_incident.detail ? 'ended' then
    return false;
  end if;
  select t.tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, null::text, null::bpm_core.node_kind
    into v_host
    from bpm_core.token t
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_incident.tenant_id and t.id = p_incident.token_id and t.state = 'Failed' and t.node_id = p_incident.node_id;
  if v_host.token_id is null then
    return false;
  end if;
  v_leaving := bpm_core.map_scope_outputs(p_incident.tenant_id, array[v_host]);
  if cardinality(v_leaving) > 0 then
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values (p_incident.tenant_id, p_incident.workflow_instance_id, bpm_core.now(), 'ScopeCompleted', p_incident.token_id, p_incident.node_id,
            jsonb_build_object('scope', p_incident.detail ->> 'ended'));
    perform bpm_core.advance_isolated(v_leaving);
  end if;
  return true;
end
$$;

-- A start that nobody called for: of this version at this start event, with fresh ids. Of a process of several workflows it is the first that begins there.
-- Returns:  start. The cause goes into history.
create or replace function bpm_core.triggered_start(p_tenant_id text, p_process_version_id uuid, p_node_id text, p_variables jsonb, p_business_key text, p_cause jsonb)
returns bpm_core.start
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_start bpm_core.start;
begin
  v_start.variables := p_variables;
  v_start.business_key := p_business_key;
  v_start.process_version_id := p_process_version_id;
  v_start.start_node_id := p_node_id;
  v_start.process_instance_id := bpm_core.new_id();
  v_start.workflow_instance_id := bpm_core.new_id();
  v_start.token_id := bpm_core.new_id();
  v_start.cause := p_cause;
  select b.workflow_version_id, w.owner_role_version_id, b.is_several into v_start.workflow_version_id, v_start.role_version_id, v_start.is_several
    from (select b.tenant_id, b.workflow_version_id, bool_or(b.binding_key <> 'main' or b.start_source is not null) over () as is_several
            from bpm_core.process_workflow_binding b
           where b.tenant_id = p_tenant_id and b.process_version_id = p_process_version_id
           order by b.depends_on <> '{}', b.position
           limit 1) b
   cross join lateral (
     select w.owner_role_version_id from bpm_core.workflow_version w where w.tenant_id = b.tenant_id and w.id = b.workflow_version_id offset 0) w;
  return v_start;
end
$$;

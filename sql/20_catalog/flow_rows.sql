-- The rows of workflow_flow for one compiled process.
create or replace function bpm_core.flow_rows(p_tenant_id text, p_version_id uuid, p_process_pos integer, p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.workflow_flow
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_tenant_id, p_version_id, f.source_id, f.ord, f.flow_id, f.target_id, n.kind, f.condition, '{}'::jsonb, f.condition_source, f.is_default, f.name, f.condition_tree, null::boolean
    from unnest(p_flows) f
    join unnest(p_nodes) n on n.process_pos = f.process_pos and n.node_id = f.target_id
   where f.process_pos = p_process_pos
$$;

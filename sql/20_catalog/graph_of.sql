-- The validated graph of a version as one document: what content_hash is taken over. Without the ids that differ per version.
-- Returns:  jsonb {nodes, flows, tasks}, each sorted by id.
create or replace function bpm_core.graph_of(p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[], p_tasks bpm_core.workflow_task_binding[])
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
  select jsonb_build_object(
    'nodes', (select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(n) - 'tenant_id' - 'workflow_version_id') order by n.node_id), '[]') from unnest(p_nodes) n),
    'flows', (select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(f) - 'tenant_id' - 'workflow_version_id') order by f.source_id, f.ord), '[]') from unnest(p_flows) f),
    'tasks', (select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(t) - 'tenant_id' - 'workflow_version_id') order by t.node_id), '[]') from unnest(p_tasks) t))
$$;

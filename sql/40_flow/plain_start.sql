-- The plain start event of a workflow version.
-- Returns:  text, its id; null when it has none.
create or replace function bpm_core.plain_start(p_tenant_id text, p_version_id uuid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (
    select n.node_id
      from bpm_core.workflow_node n
     where n.tenant_id = p_tenant_id and n.workflow_version_id = p_version_id and n.kind = 'StartEvent' and n.scope_node_id is null
     limit 1);
end
$$;

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
  return (select w.start_node_id from bpm_core.workflow_version w where w.tenant_id = p_tenant_id and w.id = p_version_id);
end
$$;

-- The boundary event that catches an error at the activity a token rests on: the one with the code before the one that catches all.
-- Returns:  text, its node id; null when none does.
create or replace function bpm_core.error_boundary(p_token bpm_core.moving, p_code text)
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
     where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_token.version_id and n.attached_to = p_token.node_id
       and n.kind = 'ErrorBoundary' and (n.error_code is null or n.error_code = p_code)
     order by n.error_code nulls last
     limit 1);
end
$$;

-- The live tokens of workflow instances.
-- Returns:  rows of token.
create or replace function bpm_core.live_tokens(p_tenant_id text, p_workflows uuid[])
returns setof bpm_core.token
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select t.*
    from unnest(p_workflows) w(id)
   cross join lateral (select t.* from bpm_core.token t where t.workflow_instance_id = w.id offset 0) t
   where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Waiting', 'Failed');
end
$$;

-- KIND parallel fork: the token ends, one is born per outgoing flow.
-- Returns:  moving[], the tokens born. Raises: BP429, as fork_tokens. Writes: as fork_tokens.
create or replace function bpm_core.enter_parallel_forks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return bpm_core.fork_tokens(p_arriving, array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, f.flow_id, null)::bpm_core.moving
      from unnest(p_arriving) a
     cross join lateral (select f.flow_id from bpm_core.workflow_flow f
                          where f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id offset 0) f));
end
$$;

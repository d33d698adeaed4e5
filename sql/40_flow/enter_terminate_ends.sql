-- KIND terminate end: the token ends and takes every other token of its scope with it, however deep. A sub-process goes on behind itself, an instance
-- is Completed.
-- Returns:  moving[], the hosts of the scopes that end. Writes: what complete_tokens, empty_scopes, end_scopes, terminate_instances write.
create or replace function bpm_core.enter_terminate_ends(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_tenant_id text := (p_arriving[1]).tenant_id;
  v_scopes    uuid[] := array(select distinct a.scope_id from unnest(p_arriving) a where a.scope_id <> bpm_core.root_scope());
  v_roots     uuid[] := array(select distinct a.instance_id from unnest(p_arriving) a where a.scope_id = bpm_core.root_scope());
begin
  perform bpm_core.complete_tokens(p_arriving);
  perform bpm_core.terminate_instances(v_tenant_id, v_roots, 'Completed');
  if cardinality(v_scopes) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  perform bpm_core.empty_scopes(v_tenant_id, v_scopes);
  return bpm_core.map_scope_outputs(v_tenant_id, bpm_core.end_scopes(v_tenant_id, v_scopes, p_arriving));
end
$$;

-- Brings tokens to rest as hosts of scopes. Their steps go on counting: a loop through a sub-process in which nothing waits is a loop.
-- Writes:   token.
create or replace function bpm_core.host_tokens(p_arriving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.token t
     set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, version = t.version + 1, updated_at = v_now
    from unnest(p_arriving) a
   where t.tenant_id = a.tenant_id and t.id = a.token_id;
end
$$;

-- Ends instances as Failed: an uncaught rejection, or an operator.
-- Writes:   as terminate_instances.
create or replace function bpm_core.fail_instances(p_tenant_id text, p_instances uuid[], p_detail jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.terminate_instances(p_tenant_id, p_instances, 'Failed', p_detail);
end
$$;

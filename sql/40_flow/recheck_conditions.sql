-- After variables changed without a token moving: lets conditions that have become true take effect.
-- Writes:   as meet_conditions, and what the paths ahead write. The instances are locked.
create or replace function bpm_core.recheck_conditions(p_tenant_id text, p_instances uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.advance_isolated(bpm_core.meet_conditions(p_tenant_id, p_instances));
end
$$;

-- A destination as it is frozen into a command: address and receiver profile, without what bounds it.
-- Returns:  jsonb.
create or replace function bpm_core.destination_profile(p_destination bpm_core.destination)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
  select to_jsonb(p_destination)
         - '{tenant_id,max_concurrent,rate_limit,rate_period,breaker_threshold,breaker_delay,created_by,created_at,updated_at}'::text[]
$$;

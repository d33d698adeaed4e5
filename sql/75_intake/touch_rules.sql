-- Says that the rules of a tenant are others now: ticks try them on what waits for a decision. Changes of rules wait here for each other.
-- Returns:  bigint, the new version. Writes: routing_state.
create or replace function bpm_core.touch_rules(p_tenant_id text)
returns bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into bpm_core.routing_state as s (tenant_id, rules_version) values (p_tenant_id, 1)
  on conflict (tenant_id) do update set rules_version = s.rules_version + 1
  returning s.rules_version
$$;

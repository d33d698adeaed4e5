-- Whether one of these tokens is in a version that has events waiting for a condition.
create or replace function bpm_core.has_conditions(p_moving bpm_core.moving[])
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return exists (
    select
      from (select distinct m.tenant_id, m.version_id from unnest(p_moving) m offset 0) m
     cross join lateral (select x.has_conditions from bpm_core.workflow_version x where x.tenant_id = m.tenant_id and x.id = m.version_id offset 0) x
     where x.has_conditions);
end
$$;

-- When does the next command fall due after p_after?
-- Returns:  timestamptz, null when none is planned.
create or replace function bpm_core.commands_due(p_tenant_id text, p_after timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return (
    select o.available_at
      from bpm_core.outbox o
     where o.state = 'Pending' and o.tenant_id = p_tenant_id and o.available_at > p_after
     order by o.available_at
     limit 1);
end
$$;

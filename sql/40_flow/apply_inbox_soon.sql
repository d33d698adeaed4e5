-- Applies inbox rows as apply_inbox does, but waits for nobody longer than a second, as a tick has to that holds their targets.
-- Returns:  integer, rows dealt with. Writes: as apply_inbox.
create or replace function bpm_core.apply_inbox_soon(p_tenant_id text, p_rows uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '1s'
as $$
begin
  return case when cardinality(p_rows) = 0 then 0 else bpm_core.apply_inbox(p_tenant_id, p_rows) end;
end
$$;

-- The transaction before which nobody opened a wait for this signal that is still open: what the last one of its name found. From the very
-- beginning where there was none, or where the transactions were counted by another server (p_server_id): those of a restored database are not ours.
-- Exact, unlike positions by a clock: a wait that is passed over would never get its signal.
-- Returns:  xid8.
create or replace function bpm_core.safe_signal(p_tenant_id text, p_name text, p_server_id bigint)
returns xid8
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  r_last record;
begin
  select g.safe_from, g.server_id into r_last
    from bpm_core.signal g
   where hashtextextended(g.tenant_id || chr(31) || g.name, 0) = hashtextextended(p_tenant_id || chr(31) || p_name, 0)
     and g.name = p_name and g.tenant_id is not distinct from p_tenant_id
   order by g.id desc
   limit 1;
  return case when r_last.server_id = p_server_id then r_last.safe_from else '0' end;
end
$$;

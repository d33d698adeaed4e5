-- Positions that no call of ours gave back.
-- Raises:   BP400.
create or replace function bpm_core.fail_position()
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.fail('BP400', 'The positions are not ones this function gave back.', null, 'Pass null to begin anew.');
end
$$;

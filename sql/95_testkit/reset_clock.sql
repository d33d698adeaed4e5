-- Tests only: puts the engine's clock back to the wall clock.
-- Returns:  timestamptz, the engine's time now.
-- Raises:   BP403 not admin.
set role bpm_owner;
create or replace function bpm.reset_clock(p_tenant_id text default '')
returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return bpm.set_clock(null, p_tenant_id);
end
$$;
revoke execute on function bpm.reset_clock(text) from public;
grant execute on function bpm.reset_clock(text) to bpm_admin;
reset role;

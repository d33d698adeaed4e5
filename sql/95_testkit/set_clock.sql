-- Tests only: sets the engine's clock to a time, from where it runs on. Null puts it back to the wall clock.
-- Returns:  timestamptz, the engine's time now.
-- Raises:   BP403 not admin.
set role bpm_owner;
create or replace function bpm.set_clock(p_to timestamptz, p_tenant_id text default '')
returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  return bpm_core.move_clock(p_to - clock_timestamp());
end
$$;
revoke execute on function bpm.set_clock(timestamptz, text) from public;
grant execute on function bpm.set_clock(timestamptz, text) to bpm_admin;
reset role;

-- Tests only: moves the engine's clock on by an interval.
-- Returns:  timestamptz, the engine's time now.
-- Raises:   BP403 not admin.
set role bpm_owner;
create or replace function bpm.advance_clock(p_by interval, p_tenant_id text default '')
returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  return bpm_core.move_clock(bpm_core.now() + p_by - clock_timestamp());
end
$$;
revoke execute on function bpm.advance_clock(interval, text) from public;
grant execute on function bpm.advance_clock(interval, text) to bpm_admin;
reset role;

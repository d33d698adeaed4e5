-- The actor a human or administrative call is recorded under.
-- Returns:  text, p_actor or the caller's role.
-- Raises:   BP400 empty or over-long name, blanks around it. BP403 asserting somebody else without being operator or admin of the tenant.
create or replace function bpm_core.acting_as(p_tenant_id text, p_actor text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller text := bpm_core.caller();
begin
  if p_actor is null or p_actor = v_caller then
    return v_caller;
  end if;
  if not bpm_core.is_name(p_actor) then
    perform bpm_core.fail('BP400', 'The actor must be a name of 1 to 200 characters, without blanks around it.');
  end if;
  if not bpm_core.is_granted(v_caller, p_tenant_id, 'operator') then
    perform bpm_core.fail('BP403', format('Role %s may not act as %L.', v_caller, p_actor), null,
      'Leave p_actor out, or let an admin grant operator for this tenant.');
  end if;
  return p_actor;
end
$$;

-- The door of what changes or reads foreign keys to the host's tables: for whoever installed the engine, and no tenant's affair.
-- Raises:   BP403 not admin of the tenant without a name, or not a member of bpm_owner.
create or replace function bpm_core.enter_identity(p_tenant_id text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' or not pg_has_role(bpm_core.caller(), 'bpm_owner', 'member') then
    perform bpm_core.fail('BP403', 'Only who installed the engine (a member of bpm_owner, admin of the tenant without a name) ties it to tables of the host.', null,
      'Leave p_tenant_id out, and call as the installer.');
  end if;
end
$$;

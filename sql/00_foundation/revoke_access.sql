-- Takes a grant away: exactly the one of this role, pattern and capability; what other grants give the role it keeps.
-- Returns:  boolean, whether there was such a grant. Works for roles that are gone, too.
-- Raises:   BP400 unknown capability, no role, no pattern or no tenant. BP403 the caller is not admin: of the tenant for a grant of that very tenant,
--           else of the tenant without a name. BP409 it would leave the tenant without a name without an admin.
-- Writes:   tenant_grant, audit_event.
-- Locks:    tenant_grant, share row exclusive, when an admin of the tenant without a name is revoked: of two such calls one must see the other.
create or replace function bpm.revoke_access(p_role text, p_tenant_pattern text, p_capability text, p_actor text default null, p_tenant_id text default '')
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- As in grant_access.
  v_tenant text := case when p_tenant_id is null or (p_tenant_pattern = p_tenant_id and right(p_tenant_id, 1) <> '%') then p_tenant_id else '' end;
  v_actor  text;
begin
  perform bpm_core.enter_call(v_tenant, 'admin');
  v_actor := bpm_core.acting_as(v_tenant, p_actor);
  if p_role is null or length(p_role) > 63 or p_tenant_pattern is null or length(p_tenant_pattern) > 201 then
    perform bpm_core.fail('BP400', 'A grant is of a role, for a tenant pattern: a text of at most 201 characters.');
  elsif p_capability is null or p_capability not in ('reader', 'worker', 'operator', 'admin') then
    perform bpm_core.fail('BP400', format('Unknown capability %L.', left(p_capability, 100)), null, 'Use reader, worker, operator or admin.');
  end if;
  if p_capability = 'admin' and p_tenant_pattern in ('', '%') then
    lock table bpm_core.tenant_grant in share row exclusive mode;
  end if;
  delete from bpm_core.tenant_grant g
   where g.role_name = p_role and g.tenant_pattern = p_tenant_pattern and g.capability = p_capability::bpm_core.capability;
  if not found then
    return false;
  end if;
  if not exists (select from bpm_core.tenant_grant g where g.capability = 'admin' and g.tenant_pattern in ('', '%')) then
    perform bpm_core.fail('BP409', 'Nobody would be left to administer the tenant without a name.', null, 'Grant somebody else admin first.');
  end if;
  perform bpm_core.write_audit(v_tenant, v_actor, 'RevokeAccess', 'role', p_role, null, null,
    jsonb_build_object('tenant_pattern', p_tenant_pattern, 'capability', p_capability));
  return true;
end
$$;

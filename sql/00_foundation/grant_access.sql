-- Grants a database role a capability for the tenants a pattern covers.
-- Returns:  nothing. Granting twice changes nothing.
-- Raises:   BP400 unknown capability, no pattern or no tenant. BP403 the caller is not admin: of the tenant for a grant of that very tenant, else of
--           the tenant without a name. BP404 no such role.
-- Writes:   tenant_grant, audit_event.
create or replace function bpm.grant_access(p_role text, p_tenant_pattern text, p_capability text, p_actor text default null, p_tenant_id text default '')
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- The tenant whose admin the caller has to be; what is done is recorded there.
  v_tenant text := case when p_tenant_id is null or (p_tenant_pattern = p_tenant_id and right(p_tenant_id, 1) <> '%') then p_tenant_id else '' end;
  v_actor  text;
begin
  perform bpm_core.enter_call(v_tenant, 'admin');
  v_actor := bpm_core.acting_as(v_tenant, p_actor);
  if p_tenant_pattern is null or length(p_tenant_pattern) > 201 then
    perform bpm_core.fail('BP400', 'A tenant pattern is a text of at most 201 characters.');
  elsif p_capability is null or p_capability not in ('reader', 'worker', 'operator', 'admin') then
    perform bpm_core.fail('BP400', format('Unknown capability %L.', p_capability), null, 'Use reader, worker, operator or admin.');
  elsif not exists (select from pg_roles r where r.rolname = p_role) then
    perform bpm_core.fail('BP404', format('There is no database role %L.', p_role), null, 'Create the role first.');
  end if;
  insert into bpm_core.tenant_grant (role_name, tenant_pattern, capability, granted_by, granted_at)
  values (p_role, p_tenant_pattern, p_capability::bpm_core.capability, v_actor, bpm_core.now())
  on conflict do nothing;
  perform bpm_core.write_audit(v_tenant, v_actor, 'GrantAccess', 'role', p_role, null, null,
    jsonb_build_object('tenant_pattern', p_tenant_pattern, 'capability', p_capability));
end
$$;

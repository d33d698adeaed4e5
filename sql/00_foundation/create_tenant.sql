-- Creates a tenant, or changes its name; its creator becomes its admin. There are no tenants of tenants.
-- Returns:  text, the tenant id.
-- Raises:   BP400 bad id or name. BP403 the caller is not admin of the tenant without a name. BP409 tenants are tied to the host (attach_identity), which does not know this one.
-- Writes:   tenant, tenant_grant, audit_event.
create or replace function bpm.create_tenant(p_name text, p_new_tenant_id text, p_actor text default null, p_tenant_id text default '')
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Only an admin of the tenant without a name creates tenants.', null, 'Leave p_tenant_id out.');
  end if;
  if p_new_tenant_id is null or p_new_tenant_id !~ '^[^%[:cntrl:]]{1,200}$' then
    perform bpm_core.fail('BP400', 'A tenant id is 1 to 200 characters, without % and control characters.',
      jsonb_build_object('tenant_id', p_new_tenant_id));
  end if;
  if length(p_name) > 200 then
    perform bpm_core.fail('BP400', 'The name of a tenant has at most 200 characters.');
  end if;
  insert into bpm_core.tenant as t (tenant_id, name, created_at)
  values (p_new_tenant_id, coalesce(p_name, p_new_tenant_id), bpm_core.now())
  on conflict (tenant_id) do update set name = excluded.name;
  insert into bpm_core.tenant_grant (role_name, tenant_pattern, capability, granted_by, granted_at)
  values (bpm_core.caller(), p_new_tenant_id, 'admin', bpm_core.caller(), bpm_core.now())
  on conflict do nothing;
  perform bpm_core.write_audit('', bpm_core.acting_as('', p_actor), 'CreateTenant', 'tenant', p_new_tenant_id);
  return p_new_tenant_id;
exception
  when foreign_key_violation then
    perform bpm_core.fail('BP409', format('The host application does not know tenant %L.', p_new_tenant_id), jsonb_build_object('tenant_id', p_new_tenant_id),
      'It comes first there: see bpm.identity_report().');
end
$$;

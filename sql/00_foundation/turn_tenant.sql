-- Suspends a tenant, or lets it go on. The doors of bpm.suspend_tenant and bpm.resume_tenant.
-- Returns:  boolean, whether that changed anything.
-- Raises:   BP400 no tenant. BP403 not admin of the tenant without a name. BP404 no such tenant. BP422 the tenant without a name, or an over-long reason.
-- Writes:   tenant, audit_event.
create or replace function bpm_core.turn_tenant(p_which text, p_state text, p_reason text, p_actor text, p_tenant_id text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Only an admin of the tenant without a name suspends and resumes tenants.', null, 'Leave p_tenant_id out.');
  end if;
  v_actor := bpm_core.acting_as('', p_actor);
  perform bpm_core.check_reason(p_reason);
  if p_which is null then
    perform bpm_core.fail('BP400', 'Which tenant? It is null.');
  elsif p_which = '' then
    perform bpm_core.fail('BP422', 'The tenant without a name cannot be suspended: nobody could resume it.');
  elsif not exists (select from bpm_core.tenant t where t.tenant_id = p_which) then
    perform bpm_core.fail('BP404', format('There is no tenant %L.', left(p_which, 200)));
  end if;
  update bpm_core.tenant t set state = p_state where t.tenant_id = p_which and t.state <> p_state;
  if not found then
    return false;
  end if;
  perform bpm_core.write_audit('', v_actor, case p_state when 'Suspended' then 'SuspendTenant' else 'ResumeTenant' end, 'tenant', p_which, null, p_reason);
  return true;
end
$$;

-- Lets a suspended tenant go on.
-- Returns:  boolean, false when it was not suspended.
-- Raises:   BP400 no tenant. BP403 not admin of the tenant without a name. BP404 no such tenant. BP422 the tenant without a name, or an over-long reason.
-- Writes:   tenant, audit_event.
create or replace function bpm.resume_tenant(p_resumed_tenant_id text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return bpm_core.turn_tenant(p_resumed_tenant_id, 'Active', p_reason, p_actor, p_tenant_id);
end
$$;

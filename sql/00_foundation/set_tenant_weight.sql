-- Gives a tenant its weight: while there is more to do than the runners can, tenants get turns in proportion to their weights.
-- Returns:  integer, the weight it had.
-- Raises:   BP400 no tenant. BP403 not admin of the tenant without a name. BP404 no such tenant. BP422 weight out of 1..1000, or an over-long reason.
-- Writes:   tenant, audit_event.
create or replace function bpm.set_tenant_weight(
  p_weighted_tenant_id text, p_weight integer, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor  text;
  v_before integer;
begin
  v_actor := bpm_core.check_tenant_bound(p_weighted_tenant_id, p_reason, p_actor, p_tenant_id);
  if p_weight is null or p_weight not between 1 and 1000 then
    perform bpm_core.fail('BP422', 'The weight of a tenant is 1 to 1000.', jsonb_build_object('weight', p_weight));
  end if;
  select t.weight into v_before from bpm_core.tenant t where t.tenant_id = p_weighted_tenant_id for no key update;
  if v_before <> p_weight then
    update bpm_core.tenant t set weight = p_weight where t.tenant_id = p_weighted_tenant_id;
    perform bpm_core.write_audit('', v_actor, 'SetTenantWeight', 'tenant', p_weighted_tenant_id, null, p_reason,
      jsonb_build_object('from', v_before, 'to', p_weight));
  end if;
  return v_before;
end
$$;

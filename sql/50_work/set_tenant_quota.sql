-- Bounds how many tasks of a tenant may be Executing at once, of all types together; null: no bound any more. As set_task_quota, but for the admin of all.
-- Returns:  integer, the bound there was; null: none.
-- Raises:   BP400 no tenant. BP403 not admin of the tenant without a name. BP404 no such tenant. BP422 a bound out of 1..10000, or an over-long reason.
-- Writes:   task_quota, quota_slot, audit_event. Locks: task_quota.
create or replace function bpm.set_tenant_quota(
  p_bounded_tenant_id text, p_bound integer, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
begin
  v_actor := bpm_core.check_tenant_bound(p_bounded_tenant_id, p_reason, p_actor, p_tenant_id);
  return bpm_core.turn_quota(p_bounded_tenant_id, '', p_bound, p_reason, v_actor, '');
end
$$;

-- Lets decided approvals take effect whose effect is still pending; tick does so by itself.
-- Returns:  integer, how many took effect.
-- Raises:   BP403, BP422 limit not 1 to 1000.
-- Locks:    workflow_instance, skip locked.
-- Source:   kernel design, 2.3, the startup sweep.
create or replace function bpm.apply_approval_effects(p_limit integer default 100, p_tenant_id text default '')
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  -- Nothing is decided here, so whoever works or operates may drive it.
  perform bpm_core.enter_call(p_tenant_id,
    case when bpm_core.is_granted(bpm_core.caller(), p_tenant_id, 'worker') then 'worker' else 'operator' end::bpm_core.capability);
  perform bpm_core.check_limit(p_limit);
  return (bpm_core.drive_approval_effects(p_tenant_id, p_limit, null, bpm_core.now())).done;
end
$$;

-- One chunk of sweep_instance (the setting engine.sweep_batch_size, 5,000); what is left is done by tick, through a row of the inbox.
-- Writes:   as sweep_instance; inbox.
create or replace function bpm_core.sweep_on(p_tenant_id text, p_instance_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if bpm_core.sweep_instance(p_tenant_id, p_instance_id, (bpm_core.setting_value('engine.sweep_batch_size', '5000'))::integer) then
    insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
    values (p_tenant_id, bpm_core.new_id(), 'WorkflowInstance', p_instance_id, 'Sweep', '{}', bpm_core.now());
    perform bpm_core.wake_sleepers('tick', p_tenant_id);
  end if;
end
$$;

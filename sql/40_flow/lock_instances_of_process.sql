-- Locks every workflow instance of one process.
-- Raises:   BP404 there is no such process.
create or replace function bpm_core.lock_instances_of_process(p_tenant_id text, p_process_instance_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if not exists (select from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id) then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', p_process_instance_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array(
    select w.id
      from bpm_core.workflow_instance w
     where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id));
end
$$;

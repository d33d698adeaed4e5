-- Refuses repairs of instances that are not running.
-- Raises:   BP409 final, BP423 suspended.
create or replace function bpm_core.check_running(p_tenant_id text, p_instance_id uuid)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_status bpm_core.workflow_status;
begin
  select w.status into v_status from bpm_core.workflow_instance w where w.tenant_id = p_tenant_id and w.id = p_instance_id;
  if v_status = 'Suspended' then
    perform bpm_core.fail('BP423', format('Instance %s is suspended.', p_instance_id), null, 'Resume it first.');
  elsif v_status <> 'Running' then
    perform bpm_core.fail('BP409', format('Instance %s is %s.', p_instance_id, v_status), jsonb_build_object('status', v_status));
  end if;
end
$$;

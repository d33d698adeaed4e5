-- Locks the instance of an approval, and then reads it.
-- Returns:  approval_record.
-- Raises:   BP404 there is none. Locks: workflow_instance.
create or replace function bpm_core.lock_approval(p_tenant_id text, p_approval_id uuid)
returns bpm_core.approval_record
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_instance uuid;
  r_approval bpm_core.approval_record;
begin
  select a.workflow_instance_id into v_instance from bpm_core.approval_record a where a.tenant_id = p_tenant_id and a.id = p_approval_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no approval %s.', p_approval_id), jsonb_build_object('approval_id', p_approval_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[v_instance]);
  select a.* into r_approval from bpm_core.approval_record a where a.tenant_id = p_tenant_id and a.id = p_approval_id;
  return r_approval;
end
$$;

-- Suspends (p_to Suspended) or resumes (p_to Running) all workflow instances of a process and the process itself.
-- Returns:  boolean, whether anything changed.
-- Raises:   BP404, BP409 it has ended.
-- Writes:   workflow_instance, history_event, process_instance, and what sweep_instance writes. Locks: all instances of the process.
create or replace function bpm_core.turn_process(p_tenant_id text, p_process_instance_id uuid, p_to bpm_core.workflow_status, p_actor text, p_reason text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_from    constant bpm_core.workflow_status := case p_to when 'Suspended' then 'Running' else 'Suspended' end::bpm_core.workflow_status;
  v_status  bpm_core.process_status;
  v_turning uuid[];
begin
  perform bpm_core.lock_instances_of_process(p_tenant_id, p_process_instance_id);
  select p.status into v_status from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  if v_status not in ('Running', 'Suspended') then
    perform bpm_core.fail('BP409', format('Process instance %s is %s.', p_process_instance_id, v_status), jsonb_build_object('status', v_status));
  end if;
  v_turning := array(
    select w.id
      from (select w.tenant_id, w.id, w.status from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id offset 0) w
     where w.tenant_id = p_tenant_id and w.status = v_from);
  update bpm_core.workflow_instance w
     set status = p_to, lock_version = w.lock_version + 1
    from (select p_tenant_id as tenant_id, i.id from unnest(v_turning) i(id) offset 0) i
   where w.tenant_id = i.tenant_id and w.id = i.id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, from_state, to_state, actor, detail)
  select p_tenant_id, i.id, bpm_core.now(), case p_to when 'Suspended' then 'InstanceSuspended' else 'InstanceResumed' end::bpm_core.history_kind,
         v_from::text, p_to::text, p_actor, jsonb_strip_nulls(jsonb_build_object('reason', p_reason))
    from unnest(v_turning) i(id);
  perform bpm_core.sweep_on(p_tenant_id, i.id) from unnest(v_turning) i(id);
  if p_to = 'Running' then
    perform bpm_core.free_inbox(p_tenant_id, p_process_instance_id, null);
  end if;
  if v_status::text = p_to::text then
    return cardinality(v_turning) > 0;
  end if;
  -- After tasks and timers in the lock order; one of several workflows is locked already.
  perform from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id for no key update;
  update bpm_core.process_instance p
     set status = p_to::text::bpm_core.process_status, version = p.version + 1, updated_at = bpm_core.now()
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  return true;
end
$$;

-- Cancels a process with everything in it: tokens, tasks, timers, waits, approvals, unsent commands. Commands already on their way finish their own life.
-- Returns:  one row: process_instance_id, status (Cancelled; of one that had ended before, how it ended).
-- Raises:   BP403, BP404, BP422 reason too long.
-- Writes:   as terminate_instances, audit_event. Locks: all workflow instances of the process; one of several workflows itself.
create or replace function bpm.cancel_process(p_process_instance_id uuid, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor     text;
  v_instances uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  perform bpm_core.lock_instances_of_process(p_tenant_id, p_process_instance_id);
  v_instances := array(
    select w.id
      from (select w.tenant_id, w.id, w.status, w.parent_token_id from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id offset 0) w
     where w.tenant_id = p_tenant_id and w.status in ('Running', 'Suspended')
     -- What they have called hears of it through the inbox, level by level.
     and w.parent_token_id is null);
  if bpm_core.cancel_several(p_tenant_id, p_process_instance_id, v_actor) or cardinality(v_instances) > 0 then
    perform bpm_core.terminate_instances(p_tenant_id, v_instances, 'Cancelled', jsonb_build_object('actor', v_actor, 'reason', p_reason));
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'CancelProcess', 'process_instance', p_process_instance_id::text, null, p_reason);
  end if;
  return query
  select p.id, p.status::text from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  if not found then
    -- It was removed while this waited for its lock: that says so.
    perform bpm_core.lock_instances_of_process(p_tenant_id, p_process_instance_id);
  end if;
end
$$;

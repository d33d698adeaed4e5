-- Lets a suspended process go on: held tasks are handed out again, timers fire (those overdue at once, and once), and what was parked or
-- waited is applied by tick, in the order in which it came.
-- Returns:  one row: process_instance_id, status (Running, also when it was before).
-- Raises:   BP403, BP404, BP409 it has ended, BP422 reason too long.
-- Writes:   workflow_instance, task_instance, timer, token, inbox, process_instance, history_event, audit_event; of large ones the rest by tick.
-- Locks:    all workflow instances of the process.
create or replace function bpm.resume_process(p_process_instance_id uuid, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  if bpm_core.turn_process(p_tenant_id, p_process_instance_id, 'Running', v_actor, p_reason) then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ResumeProcess', 'process_instance', p_process_instance_id::text, null, p_reason);
    perform bpm_core.recheck_conditions(p_tenant_id, bpm_core.workflows_of(p_tenant_id, p_process_instance_id));
    perform bpm_core.revisit_inclusive_joins(p_tenant_id, w.id) from unnest(bpm_core.workflows_of(p_tenant_id, p_process_instance_id)) w(id);
  end if;
  return query select p_process_instance_id, 'Running'::text;
end
$$;

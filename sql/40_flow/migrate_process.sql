-- Moves a process instance to another version of its process, as bpm.plan_migration shows it. All or nothing, in one transaction; what would strand
-- something is refused. Tasks get the task version, type and attempts of the new version; tasks in hand stay in hand; timers keep their due time.
-- Returns:  one row: process_instance_id, from_version, to_version, changes (what was renamed, closed or opened, as jsonb); moving to the version it has does nothing.
-- Raises:   BP403, BP404, BP409 it has ended, BP422 refused (detail: all refusals), a wrong mapping, a reason too long.
-- Writes:   workflow_instance, process_instance, instance_migration, token, scope, subscription, timer, task_instance, approval_record, incident,
--           history_event, audit_event. Locks: all workflow instances of the process.
create or replace function bpm.migrate_process(
  p_process_instance_id uuid, p_to_version integer, p_mapping jsonb default '{}', p_reason text default null, p_actor text default null,
  p_tenant_id text default '')
returns table (process_instance_id uuid, from_version integer, to_version integer, changes jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  v_refusals jsonb;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  perform bpm_core.lock_instances_of_process(p_tenant_id, p_process_instance_id);
  select m.from_version, m.changes, m.refusals into from_version, changes, v_refusals
    from bpm_core.migrate_locked(p_tenant_id, p_process_instance_id, p_to_version, p_mapping, v_actor, p_reason) m;
  if v_refusals is not null then
    perform bpm_core.fail('BP422', format('Process instance %s cannot be moved to version %s: %s', p_process_instance_id, p_to_version,
                                          (v_refusals -> 0 ->> 'node') || ', ' || (v_refusals -> 0 ->> 'message')
                                          || case when jsonb_array_length(v_refusals) > 1 then format(' (and %s more)', jsonb_array_length(v_refusals) - 1) else '' end || '.'),
      jsonb_build_object('refusals', v_refusals), 'bpm.plan_migration() lists everything; the mapping or moving tokens may help.');
  end if;
  process_instance_id := p_process_instance_id;
  to_version := p_to_version;
  return next;
end
$$;

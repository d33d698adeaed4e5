-- Starts one process. The single form of start_processes.
-- Returns:  one row: process_instance_id, workflow_instance_id, status, is_new (false: repeated idempotency key, the first answer).
-- Raises:   BP404 no such process or version, BP409 the key was used for another request, or the process has no plain start event, BP422 variables refused; else as start_processes.
create or replace function bpm.start_process(
  p_code text, p_variables jsonb default '{}', p_business_key text default null, p_idempotency_key text default null, p_version integer default null,
  p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, workflow_instance_id uuid, status text, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_done record;
begin
  select s.* into r_done
    from bpm.start_processes(
      jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
        'code', p_code, 'business_key', p_business_key, 'idempotency_key', p_idempotency_key, 'version', p_version))
        || jsonb_build_object('variables', p_variables)),
      p_actor, p_tenant_id) s;
  if r_done.outcome <> 'Done' then
    perform bpm_core.fail(
      case r_done.outcome when 'NotFound' then 'BP404' when 'Conflict' then 'BP409' when 'WrongState' then 'BP409' else 'BP422' end, r_done.message,
      jsonb_build_object('code', p_code, 'version', p_version, 'outcome', r_done.outcome),
      case r_done.outcome when 'NotFound' then 'See the view bpm.definition; deploy with bpm.deploy_bpmn.'
                          when 'WrongState' then 'The view bpm.start_event lists what starts it.'
                          when 'Conflict' then 'Use a fresh key, or repeat the request unchanged.' end);
  end if;
  return query select r_done.process_instance_id, r_done.workflow_instance_id, r_done.status, r_done.is_new;
end
$$;

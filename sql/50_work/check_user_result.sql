-- Does a person's answer meet the result schema of its task? Nothing of one that does not is kept: the call raises.
-- Raises:   BP422.
create or replace function bpm_core.check_user_result(p_task bpm_core.task_instance, p_variables jsonb)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_fault text := (
    select bpm_core.schema_fault(v.result_schema, p_variables) from bpm_core.task_version v where v.tenant_id = p_task.tenant_id and v.id = p_task.task_version_id);
begin
  if v_fault is not null then
    perform bpm_core.fail('BP422', format('The result does not meet the schema of its task, %s.', v_fault), jsonb_build_object('id', p_task.id, 'outcome', 'Rejected', 'reasons', jsonb_build_array(v_fault)),
      'The task is as it was; answer again.');
  end if;
end
$$;

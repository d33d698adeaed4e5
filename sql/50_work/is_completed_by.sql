-- Did this person complete this user task before, with the same variables, evidence and facts?
-- Returns:  boolean.
create or replace function bpm_core.is_completed_by(p_tenant_id text, p_task_id uuid, p_actor text, p_variables jsonb, p_record jsonb)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return exists (
    select
      from bpm_core.task_instance t
      join bpm_core.result r on r.tenant_id = t.tenant_id and r.task_instance_id = t.id and r.attempt = t.attempt
     where t.tenant_id = p_tenant_id and t.id = p_task_id and t.state = 'Completed' and t.task_type = 'bpm:user'
       and t.worker_id = p_actor and r.content_hash = bpm_core.answer_hash(p_variables, null, p_record));
end
$$;

-- What bars this person from reviewing a result: own (they gave it), delegates (it was handed on to them), or a part of the exclusion rule of its task version.
-- Returns:  text, null: nothing.
create or replace function bpm_core.review_bar(p_review bpm_core.review, p_actor text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task bpm_core.task_instance;
begin
  select t.* into r_task from bpm_core.task_instance t where t.tenant_id = p_review.tenant_id and t.id = p_review.task_instance_id;
  return case
    when exists (select from bpm_core.result r
                  where r.tenant_id = p_review.tenant_id and r.task_instance_id = p_review.task_instance_id and r.attempt = p_review.attempt and r.created_by = p_actor)
      then 'own'
    -- Who found out what the owner answered; the rule bars delegates of other tasks only, since of this one they may do the task.
    when p_actor = any (r_task.delegates)
         and exists (select from bpm_core.task_version v
                      where v.tenant_id = r_task.tenant_id and v.id = r_task.task_version_id and v.exclusion_rule -> 'delegates' = 'true') then 'delegates'
    else bpm_core.exclusion_of(r_task, p_actor) end;
end
$$;

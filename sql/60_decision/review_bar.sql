-- What bars this person from reviewing a result: own (they gave it), or a part of the exclusion rule of its task version.
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
    else bpm_core.exclusion_of(r_task, p_actor) end;
end
$$;

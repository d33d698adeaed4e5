-- Under the locks: a person's answer that is to be reviewed is noted as parked, and a review is asked for.
-- Writes:   history_event, and what ask_reviews writes.
create or replace function bpm_core.park_for_review(p_task bpm_core.task_instance, p_variables jsonb, p_actor text, p_record jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_task.tenant_id, p_task.workflow_instance_id, bpm_core.now(), 'TaskHeld', p_task.token_id, p_task.node_id, p_actor,
          jsonb_build_object('task', p_task.id, 'attempt', p_task.attempt + 1, 'parked', true));
  perform bpm_core.ask_reviews(p_task.tenant_id, array[
    row(p_task.id, p_task.attempt + 1, p_task.token_id, p_task.workflow_instance_id, p_variables, p_record,
        (select r.content_hash from bpm_core.result r
          where r.tenant_id = p_task.tenant_id and r.task_instance_id = p_task.id and r.attempt = p_task.attempt + 1))::bpm_core.reviewed]);
end
$$;

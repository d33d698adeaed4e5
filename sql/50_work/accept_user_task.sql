-- Under the locks: takes what a person answered, as attempt and result like any other task's. p_record: the evidence and facts that come with it.
-- Returns:  accepted; null when its output mappings could not be evaluated (the result is kept and the token stopped), or when it is to be reviewed first.
-- Raises:   BP403 the actor is excluded; BP409 somebody else holds it; BP409, BP423 the instance is not running; BP422 it does not meet the result schema.
-- Writes:   task_instance, execution, result, history_event, audit_event; token, incident when it is stopped.
create or replace function bpm_core.accept_user_task(p_task bpm_core.task_instance, p_variables jsonb, p_actor text, p_record jsonb)
returns bpm_core.accepted
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now       timestamptz := bpm_core.now();
  v_variables jsonb := bpm_core.decode_variables(p_variables);
  v_patch     jsonb := v_variables;
  v_problem   text;
  v_detail    jsonb;
  v_accepted  bpm_core.accepted;
begin
  perform bpm_core.take_user_task(p_task, 'Completed', p_actor);
  if p_task.checks_result is not null then
    perform bpm_core.check_user_result(p_task, v_variables);
  end if;
  if p_task.outputs is not null and p_task.needs_review is null then
    select coalesce(m.patch, '{}'), m.problem, m.detail into v_patch, v_problem, v_detail
      from bpm_core.mapped_outputs(p_task.tenant_id, p_task.workflow_instance_id, p_task.scope_id, p_task.outputs, p_task.input, v_variables) m;
  end if;
  insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
  values (p_task.tenant_id, p_task.id, p_task.attempt + 1, p_actor, p_task.fencing_token + 1, v_now, v_now, v_now, 'Succeeded', 'Completed');
  insert into bpm_core.result (tenant_id, task_instance_id, attempt, output, verdict, content_hash, created_by, created_at)
  values (p_task.tenant_id, p_task.id, p_task.attempt + 1, v_variables, (case when p_task.needs_review then 'NeedsReview' else 'Accepted' end)::bpm_core.verdict, bpm_core.answer_hash(p_variables, null, p_record), p_actor, v_now);
  perform bpm_core.write_audit(p_task.tenant_id, p_actor, 'CompleteUserTask', 'task_instance', p_task.id::text);
  if p_task.needs_review is not null then
    perform bpm_core.park_for_review(p_task, v_variables, p_actor, p_record);
    return null;
  end if;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_task.tenant_id, p_task.workflow_instance_id, v_now, 'TaskCompleted', p_task.token_id, p_task.node_id, p_actor,
          jsonb_build_object('task', p_task.id, 'attempt', p_task.attempt + 1, 'variables', v_patch)
          || bpm_core.local_names(p_task.tenant_id, p_task.scope_id, v_patch));
  v_accepted := row(1, p_task.id, p_task.workflow_instance_id, p_task.token_id, p_task.node_id, p_task.attempt + 1, v_patch, p_task.scope_id)::bpm_core.accepted;
  if v_problem is not null then
    perform bpm_core.stop_unmapped(p_task.tenant_id, array[row(v_accepted, v_problem, v_detail)::bpm_core.unmapped]);
    return null;
  end if;
  return v_accepted;
end
$$;

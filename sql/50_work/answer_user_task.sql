-- Under the locks of instance and task: takes a person's answer with its evidence and facts, all or nothing.
-- Returns:  accepted, as accept_user_task.
-- Raises:   BP409 a subject is at another version than expected, or evidence was purged; and as accept_user_task.
-- Writes:   as accept_user_task; evidence, result_evidence, subject, fact. Locks: subject, then evidence for share.
create or replace function bpm_core.answer_user_task(p_task bpm_core.task_instance, p_variables jsonb, p_actor text, p_record jsonb)
returns bpm_core.accepted
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_answers  bpm_core.answer[];
  v_accepted bpm_core.accepted;
begin
  if p_record is null then
    return bpm_core.accept_user_task(p_task, p_variables, p_actor, null);
  end if;
  v_answers := array[row(1, p_task.id, p_task.fencing_token + 1, p_variables, null, bpm_core.answer_hash(p_variables, null, p_record), p_record, null)::bpm_core.answer];
  if cardinality(bpm_core.refused_records(p_task.tenant_id, v_answers, v_now)) > 0 then
    perform bpm_core.fail('BP409', bpm_core.record_trouble(p_task.tenant_id, p_task.id, p_record), jsonb_build_object('id', p_task.id), 'Look again, then answer again.');
  end if;
  v_accepted := bpm_core.accept_user_task(p_task, p_variables, p_actor, p_record);
  perform bpm_core.keep_records(p_task.tenant_id, v_answers, v_now);
  return v_accepted;
end
$$;

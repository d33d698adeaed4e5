-- Completes tasks their caller holds: the result is kept, the variables named are patched, the tokens go on. All in one transaction.
-- While an instance is suspended (instance_status says so) its answers are kept and counted all the same; the rest follows on resume.
-- p_items: [{"task_id", "fencing_token", "variables": {…}, "result": any, "evidence": […], "facts": […], "verdict", "reasons": […]}], at most 1,000.
-- evidence: as attach_evidence takes it. facts: [{"subject_type", "subject_key", "name", "value", "evidence": [places in evidence, from 0],
-- "expected_version": the subject's lock_version, 0: it is not there yet}], at most 100; written with the result, or, with outcome Conflict, nothing is.
-- verdict: NeedsReview asks for somebody to look at the result before it counts (bpm.decide_review), whatever its task version says; reasons, texts, say why.
-- Returns:  one row per item: item (from 1), task_id, outcome (Completed also for an unchanged repeat; LeaseLost, Conflict, Cancelled, Rejected,
--           WrongState, NotFound), instance_status, message: why it is Rejected. A result that does not meet the result schema of its task is kept as
--           rejected, and the task stays with its worker, who may answer again or fail it. Conflict: answered before with something else; a subject is not at the version expected; evidence was purged.
-- Raises:   BP400 ill-formed items, BP403, BP429 too many items. BP503 evidence was purged at the same moment. 55P03, 40P01: repeat the call.
-- Writes:   per ordinary step: workflow_instance, task_instance, execution, result, history_event, token, next task_instance; with facts and evidence: evidence, result_evidence, subject, fact.
-- Locks:    workflow_instance, then task_instance, then subject, each sorted.
-- Source:   runtime design, transaction cookbook, "Complete step"; kernel design, 9.1.
create or replace function bpm.complete_tasks(p_items jsonb, p_tenant_id text default '')
returns table (item integer, task_id uuid, outcome bpm.outcome, instance_status text, message text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_count     integer;
  v_answers   bpm_core.answer[];
  v_steps     bpm_core.step[];
  v_suspended uuid[];
  v_accepted  bpm_core.accepted[];
  v_going     bpm_core.accepted[];
  v_recording boolean;
  v_doubts    jsonb;
  v_now       timestamptz;
begin
  if not bpm_core.enter_call(p_tenant_id, 'worker') then
    return;
  end if;
  v_count := case when jsonb_typeof(p_items) = 'array' then jsonb_array_length(p_items) end;
  if v_count <= 1000 then
    v_steps := bpm_core.take_direct_steps(p_tenant_id, p_items);
  end if;
  if cardinality(v_steps) = v_count and v_count = 1 then
    item := 1;
    task_id := v_steps[1].task_id;
    outcome := 'Completed';
    instance_status := case when v_steps[1].has_ended then 'Completed' else 'Running' end;
    return next;
    return;
  elsif cardinality(v_steps) = v_count then
    return query
    select s.item, s.task_id, 'Completed'::bpm.outcome, case when s.has_ended then 'Completed' else 'Running' end, null
      from unnest(v_steps) s
     order by s.item;
    return;
  end if;
  -- What is ill-formed was left; with it, all that was taken is taken back.
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token,variables,result,evidence,facts,verdict,reasons}');
  v_answers := bpm_core.parse_answers(p_items, array(select s.item from unnest(v_steps) s));
  v_suspended := bpm_core.lock_instances_of_tasks(p_tenant_id, array(select a.task_id from unnest(v_answers) a));
  v_now := bpm_core.now();
  v_recording := exists (select from unnest(v_answers) a where a.record is not null);
  if v_recording then
    v_answers := bpm_core.admit_records(p_tenant_id, v_answers, v_now);
    -- A verdict is part of a record, so that those without one are not asked for it.
    v_doubts := (select jsonb_object_agg(a.item, a.record -> 'reasons') from unnest(v_answers) a where a.record ? 'verdict');
  end if;
  v_accepted := bpm_core.accept_answers(p_tenant_id, v_answers, v_suspended, v_now, v_doubts);
  if v_recording then
    perform bpm_core.keep_records(p_tenant_id, v_answers, v_now);
  end if;
  v_going := case when v_suspended = '{}' then v_accepted else bpm_core.park_answers(p_tenant_id, v_accepted, v_suspended) end;
  if cardinality(v_going) > 0 then
    perform bpm_core.continue_accepted(p_tenant_id, v_going);
  end if;
  return query
  select a.item, a.task_id,
         o.outcome, w.status::text, case when o.outcome = 'Rejected' then bpm_core.answer_fault(p_tenant_id, p_items -> a.item - 1, a.answer) end
    from (select p_tenant_id as tenant_id, a.item, a.task_id, a as answer from unnest(v_answers) a offset 0) a
   cross join (select array(select c.item from unnest(v_accepted) c)) v(items)
   cross join lateral (select case when a.item = any (v.items) then 'Completed'::bpm.outcome else bpm_core.answer_outcome(p_tenant_id, a.answer) end offset 0) o(outcome)
    left join lateral (select t.tenant_id, t.workflow_instance_id from bpm_core.task_instance t
                        where t.tenant_id = a.tenant_id and t.id = a.task_id offset 0) t on true
    left join lateral (select w.status from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w on true
  union all
  select s.item, s.task_id, 'Completed', case when s.has_ended then 'Completed' else 'Running' end, null
    from unnest(v_steps) s
   order by 1;
end
$$;

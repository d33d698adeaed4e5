-- Says how tasks of a type are executed: a new version, or an identical one again, which becomes the current one. Files deployed from now on are pinned to it;
-- those deployed before keep theirs until they are deployed again. What is not given is the default.
-- p_input_schema, p_result_schema: JSON Schema, of the part that is checked (schema_problem): what a task is given has to meet the one when it is offered,
-- what it gives back (its result, else its variables) the other. p_exclusion_rule, of tasks for people: who may not do it, {"requester": true (who started
-- the process), "earlier_actors": true or [node ids] (who did user tasks of it before), "delegates": true (whom one was handed on to), "actors": [names]}.
-- p_approval_policy: how its approvals are decided, {required, approvers, approver_groups, veto, exclude, expires_in, remind_every, escalate_in, escalate_to}, see approval_problem.
-- p_review_required: somebody else looks at each result before it counts (bpm.decide_review).
-- The code of the definition and the type are the same unless both are given.
-- Returns:  version number, and whether it is new.
-- Raises:   BP400 neither code nor type, or too long. BP422 a value out of range, a schema or rule that is none, or a reserved type (bpm:…). BP403.
-- Writes:   task_definition, task_version, audit_event.
-- Locks:    the task_definition row.
create or replace function bpm.publish_task(
  p_code text default null, p_task_type text default null, p_executor_kind text default 'Service', p_max_attempts integer default 3,
  p_backoff interval default interval '1 second', p_backoff_factor numeric default 2, p_backoff_cap interval default interval '5 minutes',
  p_jitter numeric default 0.1, p_lease interval default interval '30 seconds', p_approval_required boolean default false,
  p_input_schema jsonb default null, p_result_schema jsonb default null, p_exclusion_rule jsonb default null, p_approval_policy jsonb default null,
  p_review_required boolean default false, p_actor text default null, p_tenant_id text default '')
returns table (version integer, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor text;
  v_code  text := btrim(coalesce(p_code, p_task_type));
  v_draft bpm_core.task_version := bpm_core.default_task_version(btrim(coalesce(p_task_type, p_code)));
  v_moved boolean;
  v_fault text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(v_code), 0) not between 1 and 200 or length(v_draft.task_type) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'A task needs a type (or code) of 1 to 200 characters.');
  end if;
  v_fault := coalesce(
    case when v_draft.task_type like 'bpm:%' or v_code like 'bpm:%' then 'Types that start with bpm: are reserved.'
         when coalesce(p_executor_kind not in ('Service', 'Human', 'Script', 'Decision'), true) then 'p_executor_kind must be Service, Human, Script or Decision.'
         when coalesce(p_backoff_factor not between 1 and 100, true) then 'p_backoff_factor must be from 1 to 100.'
         when coalesce(p_jitter not between 0 and 1, true) then 'p_jitter must be from 0 to 1.'
         when p_approval_required is null then 'p_approval_required is null.'
         when p_review_required is null then 'p_review_required is null.'
         when bpm_core.schema_problem(p_input_schema) is not null then 'p_input_schema, ' || bpm_core.schema_problem(p_input_schema) || '.'
         when bpm_core.schema_problem(p_result_schema) is not null then 'p_result_schema, ' || bpm_core.schema_problem(p_result_schema) || '.'
         when p_exclusion_rule is not null and p_executor_kind <> 'Human' then 'p_exclusion_rule is for tasks that people do: p_executor_kind Human.' end,
    bpm_core.exclusion_problem(p_exclusion_rule),
    'p_approval_policy: ' || bpm_core.approval_problem(p_approval_policy) || '.',
    bpm_core.profile_fault(interval '0', 'Failed', p_max_attempts, p_backoff, p_backoff_cap, p_lease));
  if v_fault is not null then
    perform bpm_core.fail('BP422', v_fault, jsonb_build_object('task_type', v_draft.task_type), 'See publish_task in the reference.');
  end if;
  v_draft.executor_kind := p_executor_kind::bpm_core.executor_kind;
  v_draft.max_attempts := p_max_attempts;
  v_draft.backoff := p_backoff;
  v_draft.backoff_factor := p_backoff_factor;
  v_draft.backoff_cap := p_backoff_cap;
  v_draft.jitter := p_jitter;
  v_draft.lease := p_lease;
  v_draft.approval_required := p_approval_required;
  v_draft.input_schema := p_input_schema;
  v_draft.result_schema := p_result_schema;
  v_draft.exclusion_rule := p_exclusion_rule;
  v_draft.approval_policy := p_approval_policy;
  v_draft.review_required := p_review_required;
  select s.version, s.is_new, s.moved into version, is_new, v_moved from bpm_core.store_task_version(p_tenant_id, v_code, v_draft, v_actor) s;
  if v_moved then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'PublishTask', 'task', v_code, version, null,
      jsonb_build_object('is_new', is_new, 'task_type', v_draft.task_type, 'approval_required', p_approval_required));
  end if;
  return next;
end
$$;

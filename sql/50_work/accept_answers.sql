-- Under the locks: takes the answers whose task is leased under the fencing token shown, and stores them. Nothing moves yet. Those of
-- suspended instances are noted as parked: that the task is completed, history tells when its token goes on, and their output mappings are applied then.
-- An answer that does not meet the result schema of its task is kept apart, and its task stays as it is.
-- Output mappings are applied here; where one cannot be evaluated the result is kept and the token stops.
-- Results that are to be reviewed, by their task or because the worker says so (p_doubts: item to reasons), are kept and noted as parked, too; a review is asked for.
-- Returns:  accepted[], in item order; who is missing has lost (answer_outcome says how), was stopped, or is to be reviewed.
-- Writes:   task_instance, execution, result, history_event: one row each per answer; rejected_result; token, incident of one stopped; quota_slot; what ask_reviews writes.
create or replace function bpm_core.accept_answers(p_tenant_id text, p_answers bpm_core.answer[], p_suspended uuid[], p_now timestamptz, p_doubts jsonb default null)
returns bpm_core.accepted[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_accepted bpm_core.accepted[];
  v_unmapped bpm_core.unmapped[];
  v_reviewed bpm_core.reviewed[];
  v_bounded  uuid[];
begin
  with answer as materialized (
    -- Per token, not per task: a late answer under an old token must not stand before the right one in the same call.
    select distinct on (a.task_id, a.fencing_token) p_tenant_id as tenant_id, a.item, a.task_id, a.fencing_token, a.variables, a.output, a.content_hash
      from unnest(p_answers) a
     where a.variables is not null and a.refusal is null
     order by a.task_id, a.fencing_token, a.item),
  held as materialized (
    -- The state is looked at after the row was found by key: mentioned together, the planner would walk the index of leases.
    select a.tenant_id, a.item, a.task_id, a.variables, a.output, a.content_hash, t.attempt, t.worker_id, t.fencing_token, c.fault
      from answer a
     cross join lateral (select t.state, t.fencing_token, t.lease_until, t.attempt, t.worker_id, t.task_version_id, t.checks_result from bpm_core.task_instance t
                          where t.tenant_id = a.tenant_id and t.id = a.task_id offset 0) t
      left join lateral (select bpm_core.schema_fault(v.result_schema, a.output) as fault from bpm_core.task_version v
                          where t.checks_result and v.tenant_id = a.tenant_id and v.id = t.task_version_id offset 0) c on true
     where t.state = 'Executing' and t.fencing_token = a.fencing_token and t.lease_until > p_now),
  rejected as (
    insert into bpm_core.rejected_result (tenant_id, task_instance_id, attempt, content_hash, output, reasons, fencing_token, created_by, created_at)
    select p_tenant_id, a.task_id, a.attempt, a.content_hash, a.output, jsonb_build_array(a.fault), a.fencing_token, a.worker_id, p_now
      from held a
     where a.fault is not null
       and (select count(*) from bpm_core.rejected_result r
             where r.tenant_id = a.tenant_id and r.task_instance_id = a.task_id and r.attempt = a.attempt) < 10
    on conflict do nothing),
  done as (
    update bpm_core.task_instance t
       set state = 'Completed'
      from held a
     where a.fault is null and t.tenant_id = a.tenant_id and t.id = a.task_id
    returning a.item, t.id, t.workflow_instance_id, t.token_id, t.scope_id, t.node_id, t.attempt, t.worker_id, t.fencing_token, t.claimed_at, t.lease_until,
              a.variables, a.output, a.content_hash, t.outputs, t.input, coalesce(t.needs_review, nullif(p_doubts ? a.item::text, false)) as needs_review,
              t.type_slot, t.tenant_slot),
  mapped as materialized (
    select d.*, coalesce(m.patch, case when m.problem is null then d.variables else '{}' end) as patch, m.problem, m.detail
      from done d
      left join lateral (select m.* from bpm_core.mapped_outputs(p_tenant_id, d.workflow_instance_id, d.scope_id, d.outputs, d.input, d.variables) m
                          where d.outputs is not null and d.needs_review is null and d.workflow_instance_id <> all (p_suspended) offset 0) m on true),
  executed as (
    insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
    select p_tenant_id, d.id, d.attempt, d.worker_id, d.fencing_token, d.claimed_at, d.lease_until, p_now, 'Succeeded', 'Completed'
      from done d),
  kept as (
    insert into bpm_core.result (tenant_id, task_instance_id, attempt, output, verdict, reasons, content_hash, created_by, created_at)
    select p_tenant_id, d.id, d.attempt, d.output, case when d.needs_review then 'NeedsReview' else 'Accepted' end::bpm_core.verdict,
           nullif(p_doubts -> d.item::text, 'null'), d.content_hash, d.worker_id, p_now
      from done d),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
    select p_tenant_id, d.workflow_instance_id, p_now, (case when s.parked then 'TaskHeld' else 'TaskCompleted' end)::bpm_core.history_kind,
           d.token_id, d.node_id, d.worker_id,
           case when s.parked then jsonb_build_object('task', d.id, 'attempt', d.attempt, 'parked', true)
                else jsonb_build_object('task', d.id, 'attempt', d.attempt, 'variables', d.patch)
                     || case when d.scope_id is null then '{}' else bpm_core.local_names(p_tenant_id, d.scope_id, d.patch) end end
      from mapped d
     cross join lateral (select d.needs_review or d.workflow_instance_id = any (p_suspended)) s(parked)
     order by d.item)
  select array_agg(row(d.item, d.id, d.workflow_instance_id, d.token_id, d.node_id, d.attempt, d.patch, d.scope_id)::bpm_core.accepted order by d.item) filter (where d.problem is null and d.needs_review is null),
         array_agg(row(row(d.item, d.id, d.workflow_instance_id, d.token_id, d.node_id, d.attempt, d.patch, d.scope_id), d.problem, d.detail)::bpm_core.unmapped)
           filter (where d.problem is not null),
         array_agg(row(d.id, d.attempt, d.token_id, d.workflow_instance_id, d.variables, (select a.record from unnest(p_answers) a where a.item = d.item), d.content_hash)::bpm_core.reviewed
                   order by d.item) filter (where d.needs_review),
         array_agg(d.id) filter (where d.type_slot is not null or d.tenant_slot is not null)
    into v_accepted, v_unmapped, v_reviewed, v_bounded
    from mapped d;
  if v_bounded is not null then
    perform bpm_core.free_quota_slots(p_tenant_id, v_bounded);
  end if;
  if v_reviewed is not null then
    perform bpm_core.ask_reviews(p_tenant_id, v_reviewed);
  end if;
  if v_unmapped is not null then
    perform bpm_core.stop_unmapped(p_tenant_id, v_unmapped);
  end if;
  return coalesce(v_accepted, '{}');
end
$$;

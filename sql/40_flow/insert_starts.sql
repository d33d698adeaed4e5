-- Creates the instances of starts that stand (those without an outcome): business case, process instance, workflow instance, first token; of a process of several workflows (is_several)
-- those that begin at once. Nothing moves yet, except, with p_offers, where a direct flow (direct_flows) leads to a service task: its token stands
-- there and the task is offered, in the same statement. A business case that was closed is open again.
-- Returns:  moving[], the first tokens that are still to leave their start events; null when there are none.
-- Writes:   business_case, process_instance, workflow_instance, token, history_event, event_outbox, task_instance, and what begin_workflows writes.
create or replace function bpm_core.insert_starts(p_tenant_id text, p_starts bpm_core.start[], p_actor text, p_now timestamptz, p_offers boolean default false)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[];
  v_started uuid[];
  v_several bpm_core.start[];
  v_closed  uuid[];
  v_emits   boolean;
begin
  if cardinality(p_starts) > 1 or (p_starts[1]).business_key is not null then
    insert into bpm_core.business_case (tenant_id, id, business_key, created_at)
    select p_tenant_id, bpm_core.new_id(), k.business_key, p_now
      from (select distinct s.business_key from unnest(p_starts) s where s.business_key is not null and s.outcome is null order by 1) k
    on conflict do nothing;
  end if;
  with born as materialized (
    select s.tenant_id, s.item, s.process_instance_id, s.workflow_instance_id, s.token_id, s.process_version_id, s.workflow_version_id, s.role_version_id,
           s.start_node_id, s.variables, s.business_key, s.is_several, s.cause, c.id as case_id, c.state as case_state, o.flow_id, o.target_id
      from (select p_tenant_id as tenant_id, s.* from unnest(p_starts) s where s.outcome is null offset 0) s
      -- What is held by the foreign key anyhow is held before it is looked at: a case that somebody closes just now is waited for (close_case), and opened again.
      left join lateral (select c.id, c.state from bpm_core.business_case c
                          where c.business_key = s.business_key and c.tenant_id = s.tenant_id for key share) c on true
      left join lateral (
        select f.flow_id, f.target_id from bpm_core.workflow_flow f
         where f.tenant_id = s.tenant_id and f.workflow_version_id = s.workflow_version_id and f.source_id = s.start_node_id
           and f.ord = 1 and f.is_direct and f.target_kind <> 'EndEvent'
        offset 0) o on p_offers and s.is_several is not true),
  process as (
    insert into bpm_core.process_instance (tenant_id, id, business_case_id, process_version_id, variables, business_key, started_by, created_at, updated_at,
                                           ended_bindings)
    select p_tenant_id, b.process_instance_id, b.case_id, b.process_version_id, b.variables, b.business_key, p_actor, p_now, p_now,
           case when b.is_several then '{}'::text[] end
      from born b),
  workflow as (
    insert into bpm_core.workflow_instance (tenant_id, id, process_instance_id, workflow_version_id, role_version_id, live_tokens, created_at)
    select p_tenant_id, b.workflow_instance_id, b.process_instance_id, b.workflow_version_id, b.role_version_id, 1, p_now
      from born b
     where b.is_several is not true),
  placed as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, node_id, via_flow_id, visit, version, state, updated_at)
    select p_tenant_id, b.token_id, b.workflow_instance_id, coalesce(b.target_id, b.start_node_id), b.flow_id, (b.target_id is not null)::integer,
           (b.target_id is not null)::integer, 'Waiting', p_now
      from born b
     where b.is_several is not true),
  offered as (
    insert into bpm_core.task_instance (
      tenant_id, id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
      headers, checks_result, needs_review)
    select p_tenant_id, bpm_core.new_id(), b.workflow_instance_id, b.token_id, 1, b.target_id, k.task_version_id, k.task_type, k.priority_level, bpm_core.now(),
           k.max_attempts, k.lease, k.headers, k.checks_result, k.needs_review
      from born b
      left join lateral (select k.* from bpm_core.workflow_task_binding k
                          where k.tenant_id = b.tenant_id and k.workflow_version_id = b.workflow_version_id and k.node_id = b.target_id offset 0) k on true
     where b.target_id is not null),  -- without a binding it would raise
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, actor, detail)
    select p_tenant_id, b.workflow_instance_id, p_now, 'InstanceStarted', b.token_id, b.start_node_id, 'Running', p_actor,
           jsonb_build_object('workflow_version', b.workflow_version_id) || coalesce(b.cause, '{}')
      from born b
     where b.is_several is not true)
  select array_agg(row(p_tenant_id, b.workflow_instance_id, b.workflow_version_id, '00000000-0000-0000-0000-000000000000', b.token_id,
                       b.start_node_id, null, null)::bpm_core.moving) filter (where b.is_several is not true and b.target_id is null),
         array_agg(row(b.item, null, null, null, null, null, null, null, null, b.start_node_id, null, b.process_instance_id, b.workflow_instance_id, b.token_id,
                       null, null, b.cause, true)::bpm_core.start) filter (where b.is_several),
         array_agg(b.case_id) filter (where b.case_state = 'Closed'),
         exists (select from bpm_core.event_stream e where e.tenant_id = p_tenant_id)
    into v_leaving, v_several, v_closed, v_emits
    from born b;
  if p_offers and not bpm_core.nobody_sleeps() then
    perform bpm_core.wake_sleepers('tasks', p_tenant_id);
  end if;
  if v_emits then
    v_started := array(select s.workflow_instance_id from unnest(p_starts) s where s.outcome is null and s.is_several is not true order by s.item);
    perform bpm_core.emit_events(p_tenant_id, 'InstanceStarted', v_started);
  end if;
  if v_several is not null then
    v_leaving := v_leaving || bpm_core.begin_workflows(p_tenant_id, v_several, true, p_actor, p_now);
  end if;
  if v_closed is not null then
    perform bpm_core.reopen_cases(p_tenant_id, v_closed, p_actor);
  end if;
  return v_leaving;
end
$$;

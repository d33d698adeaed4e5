-- The ordinary step, in one statement. Locks all instances and tasks of the items and takes the answers whose task is leased under the fencing token shown and whose token goes along a direct
-- flow (direct_flows), stores them, patches their instance and moves the token to its next task or end. The same rows as accept_answers, continue_accepted and the functions of the nodes
-- would write, at half the cost. A lock gives the row as it is once it was had, and updates follow rows that changed meanwhile, so that nothing here decides upon what was before the wait;
-- graphs never change.
-- Left alone, for the general way: whatever else; instances with several answers in this call, whose patches merge in the order of their items; and all, where this raises.
-- Returns:  step[], in no order.
-- Writes:   task_instance, execution, result, history_event, workflow_instance, token, the next task_instance; what end_instances writes.
-- Locks:    workflow_instance, then task_instance, each sorted.
create or replace function bpm_core.take_direct_steps(p_tenant_id text, p_items jsonb)
returns bpm_core.step[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_steps bpm_core.step[];
  v_ends  boolean;
  v_now   timestamptz;
begin
  begin
    with asked as materialized (
      -- All instances are locked before the first task: the sort below has to see the last of them.
      select k.*, w.status, w.workflow_version_id, w.live_tokens
        from (select a.*, t.workflow_instance_id, count(*) over (partition by t.workflow_instance_id) as answers
                from (select p_tenant_id as tenant_id, i.n::integer as item, i.item as answer, (i.item ->> 'task_id')::uuid as task_id,
                             coalesce(i.item -> 'variables', '{}') as variables
                        from jsonb_array_elements(p_items) with ordinality i(item, n) offset 0) a
               cross join lateral (select t.workflow_instance_id from bpm_core.task_instance t where t.tenant_id = a.tenant_id and t.id = a.task_id offset 0) t
               order by t.workflow_instance_id offset 0) k
       cross join lateral (
         select w.status, w.workflow_version_id, w.live_tokens from bpm_core.workflow_instance w
          where w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id for no key update) w),
    held as materialized (
      select k.item, k.workflow_instance_id, k.live_tokens, k.variables, coalesce(k.answer -> 'result', k.variables) as output,
             bpm_core.text_hash(t.said, k.answer -> 'result') as content_hash, t.id, t.token_id, t.node_id, t.attempt, t.worker_id,
             t.fencing_token, t.claimed_at, t.lease_until, t.at, k.tenant_id, k.workflow_version_id, f.flow_id, f.target_id, f.target_kind = 'EndEvent' as ends
        from (select k.* from asked k order by k.task_id offset 0) k
       cross join lateral (
         select t.*, (select bpm_core.now()) as at, bpm_core.small_text(k.variables) as said from (  -- one moment for all, of when the last instance was locked; the text in no row kept, it may have megabytes
             select t.id, t.token_id, t.node_id, t.state, t.attempt, t.worker_id, t.fencing_token, t.claimed_at, t.lease_until,
                    t.scope_id is null and t.outputs is null and t.checks_result is null and t.needs_review is null
                    and t.type_slot is null and t.tenant_slot is null as is_ordinary
               from bpm_core.task_instance t where t.tenant_id = k.tenant_id and t.id = k.task_id for no key update) t offset 0) t
       cross join lateral (select f.flow_id, f.target_id, f.target_kind from bpm_core.workflow_flow f
                            where f.tenant_id = k.tenant_id and f.workflow_version_id = k.workflow_version_id and f.source_id = t.node_id
                              and f.ord = 1 and f.is_direct offset 0) f  -- the only one where it is direct; a fork of thousands is not read
       where k.answers = 1 and k.status = 'Running' and t.is_ordinary and t.state = 'Executing' and t.lease_until > t.at
         and bpm_core.is_plain_answer(k.answer, t.id, t.fencing_token, k.variables, t.said)),
    done as (
      update bpm_core.task_instance t set state = 'Completed' from held h
       where t.tenant_id = h.tenant_id and t.id = h.id),
    executed as (
      insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
      select p_tenant_id, h.id, h.attempt, h.worker_id, h.fencing_token, h.claimed_at, h.lease_until, h.at, 'Succeeded', 'Completed' from held h),
    kept as (
      insert into bpm_core.result (tenant_id, task_instance_id, attempt, output, content_hash, created_by, created_at)
      select p_tenant_id, h.id, h.attempt, h.output, h.content_hash, h.worker_id, h.at from held h),
    noted as (
      insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
      select p_tenant_id, h.workflow_instance_id, h.at, 'TaskCompleted', h.token_id, h.node_id, h.worker_id,
             jsonb_build_object('task', h.id, 'attempt', h.attempt, 'variables', h.variables)
        from held h),
    patched as (
      update bpm_core.workflow_instance w
         set lock_version = w.lock_version + 1, variables = w.variables || h.variables, live_tokens = w.live_tokens - h.ends::integer,
             status = case when h.ends and w.live_tokens = 1 then 'Completed' else w.status end,
             ended_at = case when h.ends and w.live_tokens = 1 then h.at end
        from held h
       where w.tenant_id = h.tenant_id and w.id = h.workflow_instance_id),
    moved as (
      update bpm_core.token t
         set node_id = h.target_id, via_flow_id = h.flow_id, state = case when h.ends then 'Completed' else t.state end,
             visit = t.visit + (not h.ends)::integer, steps = case when h.ends then t.steps else 0 end, version = t.version + 1, updated_at = h.at
        from held h
       where t.tenant_id = h.tenant_id and t.id = h.token_id
      returning h.ends, t.tenant_id, h.workflow_instance_id, h.workflow_version_id, t.id, t.visit, h.target_id),
    offered as (
      insert into bpm_core.task_instance (
        tenant_id, id, workflow_instance_id, token_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
        headers, checks_result, needs_review)
      select p_tenant_id, bpm_core.new_id(), m.workflow_instance_id, m.id, m.visit, m.target_id, b.task_version_id, b.task_type, b.priority_level, bpm_core.now(),
             b.max_attempts, b.lease, b.headers, b.checks_result, b.needs_review
        from moved m
        left join lateral (select b.* from bpm_core.workflow_task_binding b
                            where b.tenant_id = m.tenant_id and b.workflow_version_id = m.workflow_version_id and b.node_id = m.target_id offset 0) b on true
       where not m.ends)  -- without a binding it would raise
    select array_agg(row(h.item, h.id, h.workflow_instance_id, h.token_id, case when h.ends then h.target_id end, h.ends and h.live_tokens = 1)::bpm_core.step),
           bool_or(h.ends), max(h.at)
      into v_steps, v_ends, v_now from held h;
    if v_ends then
      perform bpm_core.end_direct_steps(p_tenant_id, v_steps, v_now);
    end if;
  exception
    when transaction_rollback or lock_not_available or operator_intervention or insufficient_resources or system_error then
      raise;
    when invalid_text_representation then
      return '{}'::bpm_core.step[];  -- an id that is none
    when others then
      -- The general way finds out whose fault it is. Where nothing raises there, this is all that tells of it.
      raise warning 'The direct way raised %: %. The general way was taken.', sqlstate, sqlerrm;
      return '{}'::bpm_core.step[];
  end;
  if not bpm_core.nobody_sleeps() then
    perform bpm_core.wake_sleepers('tasks', p_tenant_id);
  end if;
  return coalesce(v_steps, '{}');
end
$$;

-- KIND service task: the token rests, a task is offered. The row that made the token leave its last node tells history where it went.
-- Returns:  moving[], the message waits of its boundary events. Writes: token, task_instance; timer where the task has boundary timers;
--           incident where an expression of the task cannot be evaluated: then nothing is offered.
create or replace function bpm_core.enter_service_tasks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_troubles bpm_core.trouble[];
begin
  with rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, steps = 0, version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a::bpm_core.moving as token, a.tenant_id, a.instance_id, a.scope_id, a.token_id, a.node_id, a.version_id, t.visit),
  offer as materialized (
    select r.*, b.task_version_id, b.task_type, b.priority_level, b.max_attempts, b.lease, b.headers, b.checks_result, b.needs_review,
           b.expressions -> 'outputs' as outputs, s as settings
      from rested r
     cross join lateral (select b.* from bpm_core.workflow_task_binding b
                          where b.tenant_id = r.tenant_id and b.workflow_version_id = r.version_id and b.node_id = r.node_id offset 0) b
      left join lateral (
        select s.*
          from bpm_core.token_variables(r.tenant_id, r.instance_id, r.scope_id) v
         cross join lateral bpm_core.task_settings(b.expressions, v.variables, b.input_schema) s
         where b.expressions is not null or b.input_schema is not null offset 0) s on true),
  offered as (
    insert into bpm_core.task_instance (
      tenant_id, id, workflow_instance_id, token_id, scope_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
      input, outputs, headers, checks_result, needs_review, due_at, follow_up_at)
    select o.tenant_id, bpm_core.new_id(), o.instance_id, o.token_id, nullif(o.scope_id, bpm_core.root_scope()), o.visit, o.node_id, o.task_version_id, o.task_type,
           coalesce((o.settings).priority_level, o.priority_level), bpm_core.now(), o.max_attempts, o.lease,
           (o.settings).input, o.outputs, o.headers, o.checks_result, o.needs_review, (o.settings).due_at, (o.settings).follow_up_at
      from offer o
     where (o.settings).problem is null)
  select array_agg(bpm_core.task_trouble(o.token, (o.settings).problem, (o.settings).detail))
    into v_troubles
    from offer o
   where (o.settings).problem is not null;
  perform bpm_core.wake_sleepers('tasks', (p_arriving[1]).tenant_id);
  if v_troubles is null then
    return bpm_core.arm_boundaries(p_arriving);
  end if;
  perform bpm_core.open_incidents(v_troubles);
  return bpm_core.arm_boundaries(array(select a from unnest(p_arriving) a where a.token_id <> all (array(select (x.token).token_id from unnest(v_troubles) x))));
end
$$;

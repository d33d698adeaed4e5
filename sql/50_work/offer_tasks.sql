-- Offers the task of the node each resting token stands on, for the token's present visit: what an approval grants.
-- What cannot be evaluated stops the token; what waited on it is closed.
-- Writes:   task_instance; incident and what close_waits writes.
create or replace function bpm_core.offer_tasks(p_tenant_id text, p_tokens uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_troubles bpm_core.trouble[];
begin
  with offer as materialized (
    select t.*, w.workflow_version_id, b.task_version_id, b.task_type, b.priority_level, b.max_attempts, b.lease, b.assignee, b.candidate_groups, b.headers, b.checks_result, b.needs_review,
           b.expressions -> 'outputs' as outputs, s as settings
      from (select p_tenant_id as tenant_id, k.* from unnest(p_tokens) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.token t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     cross join lateral (select b.* from bpm_core.workflow_task_binding b
                          where b.tenant_id = t.tenant_id and b.workflow_version_id = w.workflow_version_id and b.node_id = t.node_id offset 0) b
      left join lateral (
        select s.*
          from bpm_core.token_variables(t.tenant_id, t.workflow_instance_id, t.scope_id) v
         cross join lateral bpm_core.task_settings(b.expressions, v.variables, b.input_schema) s
         where b.expressions is not null or b.input_schema is not null offset 0) s on true),
  offered as (
    insert into bpm_core.task_instance (
      tenant_id, id, workflow_instance_id, token_id, scope_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
      input, outputs, headers, checks_result, needs_review, due_at, follow_up_at)
    select o.tenant_id, bpm_core.new_id(), o.workflow_instance_id, o.id, nullif(o.scope_id, bpm_core.root_scope()), o.visit, o.node_id, o.task_version_id,
           o.task_type, coalesce((o.settings).priority_level, o.priority_level), bpm_core.now(), o.max_attempts, o.lease,
           (o.settings).input, o.outputs, o.headers, o.checks_result, o.needs_review, (o.settings).due_at, (o.settings).follow_up_at
      from offer o
     where (o.settings).problem is null)
  select array_agg(bpm_core.task_trouble(
           row(o.tenant_id, o.workflow_instance_id, o.workflow_version_id, o.scope_id, o.id, o.node_id, o.via_flow_id, null)::bpm_core.moving,
           (o.settings).problem, (o.settings).detail))
    into v_troubles
    from offer o
   where (o.settings).problem is not null;
  perform bpm_core.wake_sleepers('tasks', p_tenant_id);
  if v_troubles is not null then
    perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
    perform bpm_core.open_incidents(v_troubles);
  end if;
end
$$;

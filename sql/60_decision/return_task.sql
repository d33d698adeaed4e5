-- A result that was returned: the step is offered again, as a task of its own, for a completed one is never handed out again. A person's goes back to
-- whoever did it. The version is that of now: the instance may have been migrated.
-- Writes:   task_instance, workflow_instance.
create or replace function bpm_core.return_task(p_review bpm_core.review)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.bump_instances(p_review.tenant_id, array[p_review.workflow_instance_id]);
  insert into bpm_core.task_instance (
    tenant_id, id, workflow_instance_id, token_id, scope_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
    input, outputs, headers, checks_result, needs_review, assignee, candidate_groups, candidate_users, due_at, follow_up_at, delegates)
  select t.tenant_id, bpm_core.new_id(), t.workflow_instance_id, t.token_id, t.scope_id, t.visit, k.node_id, b.task_version_id, b.task_type, t.priority_level,
         bpm_core.now(), b.max_attempts, b.lease, t.input, b.expressions -> 'outputs', b.headers, b.checks_result, b.needs_review, t.assignee, t.candidate_groups,
         t.candidate_users, t.due_at, t.follow_up_at, t.delegates
    from (select t.* from bpm_core.task_instance t where t.tenant_id = p_review.tenant_id and t.id = p_review.task_instance_id offset 0) t
   cross join lateral (select k.node_id from bpm_core.token k where k.tenant_id = t.tenant_id and k.id = t.token_id offset 0) k
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   cross join lateral (select b.* from bpm_core.workflow_task_binding b
                        where b.tenant_id = t.tenant_id and b.workflow_version_id = w.workflow_version_id and b.node_id = k.node_id offset 0) b;
end
$$;

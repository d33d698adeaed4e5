-- Offers the task of the node each resting token stands on, for the token's present visit: what an approval grants.
-- Writes:   task_instance.
create or replace function bpm_core.offer_tasks(p_tenant_id text, p_tokens uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.task_instance (
    tenant_id, id, workflow_instance_id, token_id, scope_id, visit, node_id, task_version_id, task_type, priority_level, available_at, max_attempts, lease,
    assignee, candidate_groups)
  select p_tenant_id, bpm_core.new_id(), t.workflow_instance_id, t.id, nullif(t.scope_id, bpm_core.root_scope()), t.visit, t.node_id, b.task_version_id, b.task_type, b.priority_level,
         bpm_core.now(), b.max_attempts, b.lease, bpm_core.text_value(b.assignee, v.variables), nullif(b.candidate_groups, '{}')
    from (select p_tenant_id as tenant_id, k.* from unnest(p_tokens) k(id) offset 0) k
   cross join lateral (select t.* from bpm_core.token t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   cross join lateral (select b.* from bpm_core.workflow_task_binding b
                        where b.tenant_id = t.tenant_id and b.workflow_version_id = w.workflow_version_id and b.node_id = t.node_id offset 0) b
   cross join lateral bpm_core.token_variables(p_tenant_id, t.workflow_instance_id, t.scope_id) v;
end
$$;

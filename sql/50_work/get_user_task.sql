-- One user task with all a form needs.
-- Returns:  jsonb {task_id, process_instance_id, business_key, node_id, node_name, state, assignee, owner, delegation, delegates, candidate_groups,
--           candidate_users, priority_level, due_at, follow_up_at, available_at, attempt, fencing_token (hand it to complete_user_task), form {key, schema (JSON
--           Schema of the answer), input_schema}, variables (as the task sees them), headers, comments [{author, said, at}, the newest 100, oldest first]}.
-- Raises:   BP403, BP404.
create or replace function bpm.get_user_task(p_task_id uuid, p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_task jsonb;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  select jsonb_build_object(
           'task_id', t.id, 'process_instance_id', w.process_instance_id, 'business_key', p.business_key, 'node_id', t.node_id, 'node_name', n.name,
           'state', t.state, 'assignee', t.assignee, 'owner', t.owner, 'delegation', t.delegation, 'delegates', coalesce(t.delegates, '{}'),
           'candidate_groups', coalesce(t.candidate_groups, '{}'), 'candidate_users', coalesce(t.candidate_users, '{}'), 'priority_level', t.priority_level,
           'due_at', t.due_at, 'follow_up_at', t.follow_up_at, 'available_at', t.available_at, 'attempt', t.attempt, 'fencing_token', t.fencing_token,
           'form', jsonb_build_object('key', n.attributes ->> 'form_key', 'schema', v.result_schema, 'input_schema', v.input_schema),
           'variables', x.variables || coalesce(t.input, '{}'), 'headers', t.headers)
         || jsonb_build_object('comments', (
              select coalesce(jsonb_agg(jsonb_build_object('author', c.author, 'said', c.said, 'at', c.created_at) order by c.id), '[]')
                from (select c.* from bpm_core.task_comment c where c.task_instance_id = t.id and c.tenant_id = t.tenant_id order by c.id desc limit 100) c))
    into v_task
    from bpm_core.task_instance t
   cross join lateral (select w.process_instance_id, w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   cross join lateral (select p.business_key from bpm_core.process_instance p where p.tenant_id = t.tenant_id and p.id = w.process_instance_id offset 0) p
   cross join lateral (select v.input_schema, v.result_schema from bpm_core.task_version v where v.tenant_id = t.tenant_id and v.id = t.task_version_id offset 0) v
   cross join lateral bpm_core.token_variables(t.tenant_id, t.workflow_instance_id, coalesce(t.scope_id, bpm_core.root_scope())) x
    left join lateral (select n.name, n.attributes from bpm_core.workflow_node n
                        where n.tenant_id = t.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id offset 0) n on true
   where t.tenant_id = p_tenant_id and t.id = p_task_id and t.task_type = 'bpm:user';
  if v_task is null then
    perform bpm_core.fail('BP404', format('There is no user task %s.', p_task_id), null, 'People''s tasks are those of type bpm:user in the view bpm.task.');
  end if;
  return v_task;
end
$$;

-- What is open in workflow instances: the lists of get_process.
-- Returns:  jsonb {list name: array of at most p_limit objects, …, more: names of the lists cut off}.
create or replace function bpm_core.open_lists(p_tenant_id text, p_workflows uuid[], p_limit integer)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (
    select jsonb_object_agg(l.name, to_jsonb(l.items[ : p_limit]))
           || jsonb_build_object('more', coalesce(jsonb_agg(l.name) filter (where cardinality(l.items) > p_limit), '[]'))
      from (values
        ('tokens', array(
          select jsonb_build_object('token_id', t.id, 'workflow_instance_id', t.workflow_instance_id, 'node_id', t.node_id, 'node_name', n.name,
                                    'element', n.element, 'state', t.state, 'since', t.updated_at)
            from bpm_core.token t
            join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
            left join bpm_core.workflow_node n
              on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id
           where t.tenant_id = p_tenant_id and t.workflow_instance_id = any (p_workflows)
             and t.state in ('Ready', 'Executing', 'Waiting', 'Failed')
           order by t.id limit p_limit + 1)),
        ('tasks', array(
          select to_jsonb(t) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.task t
           where t.tenant_id = p_tenant_id and t.workflow_instance_id = any (p_workflows) and t.state in ('Ready', 'Executing', 'Held', 'Failed')
           order by t.task_id limit p_limit + 1)),
        ('loops', array(
          select jsonb_build_object('token_id', m.host_token_id, 'workflow_instance_id', m.workflow_instance_id, 'node_id', m.node_id, 'mode', m.mode,
                                    'total', nullif(m.total, 2147483647), 'created', m.created, 'done', m.done)
            from bpm_core.multi_instance m
           where m.tenant_id = p_tenant_id and m.workflow_instance_id = any (p_workflows)
           order by m.host_token_id limit p_limit + 1)),
        ('scopes', array(
          select jsonb_build_object('scope_id', s.id, 'workflow_instance_id', s.workflow_instance_id, 'node_id', s.node_id, 'host_token_id', s.host_token_id,
                                    'variables', s.variables, 'live_tokens', s.live_tokens)
            from bpm_core.scope s
           where s.tenant_id = p_tenant_id and s.workflow_instance_id = any (p_workflows) and s.state = 'Open'
           order by s.id limit p_limit + 1)),
        ('timers', array(
          select to_jsonb(t) - '{tenant_id,process_instance_id}'::text[] from bpm.timer t
           where t.tenant_id = p_tenant_id and t.workflow_instance_id = any (p_workflows) and t.status in ('Scheduled', 'Held')
           order by t.due_at, t.timer_id limit p_limit + 1)),
        ('waits', array(
          select jsonb_build_object('subscription_id', s.id, 'token_id', s.token_id, 'node_id', s.node_id, 'kind', s.kind, 'name', s.name,
                                    'correlation_key', s.correlation_key, 'condition', n.expressions ->> 'condition_source', 'since', s.created_at)
            from bpm_core.subscription s
            join bpm_core.token t on t.tenant_id = s.tenant_id and t.id = s.token_id
            join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
            left join bpm_core.workflow_node n
              on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id
           where t.tenant_id = p_tenant_id and t.workflow_instance_id = any (p_workflows) and s.state = 'Open'
           order by s.id limit p_limit + 1)),
        ('incidents', array(
          select to_jsonb(i) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.incident i
           where i.tenant_id = p_tenant_id and i.workflow_instance_id = any (p_workflows) and i.state = 'Open'
           order by i.incident_id limit p_limit + 1)),
        ('dead_letters', array(
          select to_jsonb(d) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.dead_letter d
           where d.tenant_id = p_tenant_id and d.workflow_instance_id = any (p_workflows) and d.state = 'Open'
           order by d.dead_letter_id limit p_limit + 1)),
        ('approvals', array(
          select to_jsonb(a) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.approval a
           where a.tenant_id = p_tenant_id and a.workflow_instance_id = any (p_workflows)
             and (a.status = 'Pending' or a.effect = 'Pending' and a.status <> 'Cancelled')
           order by a.approval_id limit p_limit + 1)),
        ('commands', array(
          select to_jsonb(c) - '{tenant_id,process_instance_id,business_key}'::text[] from bpm.command c
           where c.tenant_id = p_tenant_id and c.workflow_instance_id = any (p_workflows)
           order by c.command_id limit p_limit + 1))) l(name, items));
end
$$;

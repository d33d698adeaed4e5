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
            from bpm_core.live_tokens(p_tenant_id, p_workflows) t
           cross join lateral (select i.workflow_version_id from bpm_core.workflow_instance i
                                where i.tenant_id = p_tenant_id and i.id = t.workflow_instance_id offset 0) i
            left join lateral (select n.name, n.element from bpm_core.workflow_node n
                                where n.tenant_id = p_tenant_id and n.workflow_version_id = i.workflow_version_id and n.node_id = t.node_id offset 0) n on true
           order by t.id limit p_limit + 1)),
        ('tasks', array(
          select to_jsonb(v) - '{tenant_id,process_instance_id,business_key}'::text[]
            from unnest(p_workflows) w(id)
           cross join lateral (select x.* from bpm_core.task_instance x where x.workflow_instance_id = w.id offset 0) x
           cross join lateral (select v.* from bpm.task v where v.tenant_id = p_tenant_id and v.task_id = x.id offset 0) v
           where x.tenant_id = p_tenant_id and x.state in ('Ready', 'Executing', 'Held', 'Failed')
           order by v.task_id limit p_limit + 1)),
        ('loops', array(
          select jsonb_build_object('token_id', m.host_token_id, 'workflow_instance_id', m.workflow_instance_id, 'node_id', m.node_id, 'mode', m.mode,
                                    'total', nullif(m.total, 2147483647), 'created', m.created, 'done', m.done)
            from unnest(p_workflows) w(id)
           cross join lateral (select m.* from bpm_core.multi_instance m where m.workflow_instance_id = w.id offset 0) m
           where m.tenant_id = p_tenant_id
           order by m.host_token_id limit p_limit + 1)),
        ('scopes', array(
          select jsonb_build_object('scope_id', s.id, 'workflow_instance_id', s.workflow_instance_id, 'node_id', s.node_id, 'host_token_id', s.host_token_id,
                                    'variables', s.variables, 'live_tokens', s.live_tokens)
            from unnest(p_workflows) w(id)
           cross join lateral (select s.* from bpm_core.scope s where s.workflow_instance_id = w.id offset 0) s
           where s.tenant_id = p_tenant_id and s.state = 'Open'
           order by s.id limit p_limit + 1)),
        ('timers', array(
          select to_jsonb(v) - '{tenant_id,process_instance_id}'::text[]
            from bpm_core.live_tokens(p_tenant_id, p_workflows) t
           cross join lateral (select x.* from bpm_core.timer x where x.token_id = t.id offset 0) x
           cross join lateral (select v.* from bpm.timer v where v.tenant_id = p_tenant_id and v.timer_id = x.id offset 0) v
           where x.tenant_id = p_tenant_id and x.status in ('Scheduled', 'Held')
           order by v.due_at, v.timer_id limit p_limit + 1)),
        ('waits', array(
          select jsonb_build_object('subscription_id', s.id, 'token_id', s.token_id, 'node_id', s.node_id, 'kind', s.kind, 'name', s.name,
                                    'correlation_key', s.correlation_key, 'since', s.created_at)
                 || case s.kind when 'Conditional' then jsonb_build_object('condition', c.source) else '{}' end
            from bpm_core.live_tokens(p_tenant_id, p_workflows) t
           cross join lateral (select s.* from bpm_core.subscription s where s.token_id = t.id offset 0) s
            left join lateral (
              select n.expressions ->> 'condition_source' as source
                from (select w.workflow_version_id from bpm_core.workflow_instance w
                       where w.tenant_id = s.tenant_id and w.id = s.workflow_instance_id offset 0) w
               cross join lateral (select n.expressions from bpm_core.workflow_node n
                                    where n.tenant_id = s.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id offset 0) n) c
              on s.kind = 'Conditional'
           where s.tenant_id = p_tenant_id and s.state = 'Open'
           order by s.id limit p_limit + 1)),
        ('incidents', array(
          select to_jsonb(v) - '{tenant_id,process_instance_id,business_key}'::text[]
            from unnest(p_workflows) w(id)
           cross join lateral (select x.* from bpm_core.incident x where x.workflow_instance_id = w.id offset 0) x
           cross join lateral (select v.* from bpm.incident v where v.tenant_id = p_tenant_id and v.incident_id = x.id offset 0) v
           where x.tenant_id = p_tenant_id and x.state = 'Open'
           order by v.incident_id limit p_limit + 1)),
        ('dead_letters', array(
          select to_jsonb(v) - '{tenant_id,process_instance_id,business_key}'::text[]
            from unnest(p_workflows) w(id)
           cross join lateral (select x.* from bpm_core.dead_letter x where x.workflow_instance_id = w.id offset 0) x
           cross join lateral (select v.* from bpm.dead_letter v where v.tenant_id = p_tenant_id and v.dead_letter_id = x.id offset 0) v
           where x.tenant_id = p_tenant_id and x.state = 'Open'
           order by v.dead_letter_id limit p_limit + 1)),
        ('approvals', array(
          select to_jsonb(v) - '{tenant_id,process_instance_id,business_key}'::text[]
            from unnest(p_workflows) w(id)
           cross join lateral (select x.* from bpm_core.approval_record x where x.workflow_instance_id = w.id offset 0) x
           cross join lateral (select v.* from bpm.approval v where v.tenant_id = p_tenant_id and v.approval_id = x.id offset 0) v
           where x.tenant_id = p_tenant_id and (x.status = 'Pending' or x.effect = 'Pending' and x.status <> 'Cancelled')
           order by v.approval_id limit p_limit + 1)),
        ('commands', array(
          select to_jsonb(v) - '{tenant_id,process_instance_id,business_key}'::text[]
            from unnest(p_workflows) w(id)
           cross join lateral (select x.* from bpm_core.outbox x where x.workflow_instance_id = w.id offset 0) x
           cross join lateral (select v.* from bpm.command v where v.tenant_id = p_tenant_id and v.command_id = x.command_id offset 0) v
           where x.tenant_id = p_tenant_id
           order by v.command_id limit p_limit + 1))) l(name, items));
end
$$;

-- References of instances, tokens, joins, timers, waits, the inbox and incidents that are no foreign keys, and point at nothing.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_instances(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select 'workflow_instance', w.id::text, x.refers_to, x.which
    from bpm_core.workflow_instance w
    left join bpm_core.role_version r on r.tenant_id = w.tenant_id and r.id = w.role_version_id
    left join bpm_core.token k on k.tenant_id = w.tenant_id and k.id = w.parent_token_id
   cross join lateral (values
     ('role version', w.role_version_id::text, r.id is null),
     ('parent token', w.parent_token_id::text, w.parent_token_id is not null and k.id is null)) x(refers_to, which, broken)
   where w.tenant_id = p_tenant_id and x.broken
  union all
  select o.kind, o.id::text, 'node', o.node_id
    from (
      select 'token' as kind, k.id, k.workflow_instance_id, k.node_id from bpm_core.token k where k.tenant_id = p_tenant_id
      union all
      select 'timer', t.id, t.workflow_instance_id, t.node_id from bpm_core.timer t where t.tenant_id = p_tenant_id
      union all
      select 'subscription', s.id, s.workflow_instance_id, s.node_id from bpm_core.subscription s where s.tenant_id = p_tenant_id
      union all
      select 'incident', i.id, i.workflow_instance_id, i.node_id from bpm_core.incident i where i.tenant_id = p_tenant_id and i.node_id is not null) o
   where o.workflow_instance_id is not null
     and not exists (
       select
         from bpm_core.pinned_version v
         join bpm_core.workflow_node n on n.tenant_id = v.tenant_id and n.workflow_version_id = v.workflow_version_id and n.node_id = o.node_id
        where v.tenant_id = p_tenant_id and v.workflow_instance_id = o.workflow_instance_id)
  union all
  select o.kind, o.id::text, 'token of its instance', o.token_id::text
    from (
      select 'timer' as kind, t.id, t.workflow_instance_id, t.token_id from bpm_core.timer t where t.tenant_id = p_tenant_id
      union all
      select 'subscription', s.id, s.workflow_instance_id, s.token_id from bpm_core.subscription s where s.tenant_id = p_tenant_id
      union all
      select 'incident', i.id, i.workflow_instance_id, i.token_id from bpm_core.incident i where i.tenant_id = p_tenant_id
      union all
      select 'parallel_join_arrival', a.token_id, a.workflow_instance_id, a.token_id
        from bpm_core.parallel_join_arrival a where a.tenant_id = p_tenant_id) o
    left join bpm_core.token k on k.tenant_id = p_tenant_id and k.id = o.token_id and k.workflow_instance_id = o.workflow_instance_id
   where o.token_id is not null and k.id is null
  union all
  select 'token', k.id::text, 'scope', k.scope_id::text
    from bpm_core.token k
    left join bpm_core.scope s on s.tenant_id = k.tenant_id and s.id = k.scope_id
   where k.tenant_id = p_tenant_id and k.scope_id <> '00000000-0000-0000-0000-000000000000' and s.id is null
  union all
  select 'multi_instance_part', p.host_token_id::text, 'multi_instance', p.part::text
    from bpm_core.multi_instance_part p
    left join bpm_core.multi_instance m on m.tenant_id = p.tenant_id and m.host_token_id = p.host_token_id
   where p.tenant_id = p_tenant_id and m.host_token_id is null
  union all
  select 'inbox', i.id::text, 'target', i.target_id::text
    from bpm_core.inbox i
    left join bpm_core.workflow_instance w on w.tenant_id = i.tenant_id and w.id = i.target_id and i.target_kind = 'WorkflowInstance'
    left join bpm_core.process_instance p on p.tenant_id = i.tenant_id and p.id = i.target_id and i.target_kind = 'ProcessInstance'
   where i.tenant_id = p_tenant_id and w.id is null and p.id is null;
end
$$;

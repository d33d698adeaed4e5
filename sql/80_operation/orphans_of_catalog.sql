-- References of the catalog and of shared tables that are no foreign keys, and point at nothing.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_catalog(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'workflow_node', n.node_id, 'host node', n.attached_to
    from bpm_core.workflow_node n
   where n.tenant_id = p_tenant_id and n.attached_to is not null
     and not exists (select from bpm_core.workflow_node h
                      where h.tenant_id = n.tenant_id and h.workflow_version_id = n.workflow_version_id and h.node_id = n.attached_to)
  union all
  select 'workflow_flow', f.flow_id, 'kind of its target', f.target_id
    from bpm_core.workflow_flow f
   where f.tenant_id = p_tenant_id
     and not exists (select from bpm_core.workflow_node n
                      where n.tenant_id = f.tenant_id and n.workflow_version_id = f.workflow_version_id and n.node_id = f.target_id
                        and n.kind = f.target_kind)
  union all
  select 'workflow_node', n.node_id, 'task binding', n.workflow_version_id::text
    from bpm_core.workflow_node n
   where n.tenant_id = p_tenant_id and n.kind in ('ServiceTask', 'UserTask', 'ApprovalTask', 'SendTask')
     and not exists (select from bpm_core.workflow_task_binding b
                      where b.tenant_id = n.tenant_id and b.workflow_version_id = n.workflow_version_id and b.node_id = n.node_id)
  union all
  select 'message', m.id::text, 'subscription', m.correlated_to::text
    from bpm_core.message m
   where m.tenant_id = p_tenant_id and m.correlated_to is not null
     and not exists (select from bpm_core.subscription s where s.tenant_id = m.tenant_id and s.id = m.correlated_to)
$$;

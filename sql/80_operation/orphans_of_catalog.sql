-- References of the catalog and of shared tables that are no foreign keys, and point at nothing.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_catalog(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
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
  union all
  select 'message', m.id::text, 'workflow instance', m.started_id::text
    from bpm_core.message m
   where m.tenant_id = p_tenant_id and m.started_id is not null
     and not exists (select from bpm_core.workflow_instance w where w.tenant_id = m.tenant_id and w.id = m.started_id)
  union all
  select o.kind, o.id::text, 'start event', o.node_id
    from (
      select 'timer' as kind, t.id, t.process_version_id, t.node_id from bpm_core.timer t where t.tenant_id = p_tenant_id and t.process_version_id is not null
      union all
      select 'subscription', s.id, s.process_version_id, s.node_id
        from bpm_core.subscription s where s.tenant_id = p_tenant_id and s.process_version_id is not null) o
   where not exists (select
                       from bpm_core.process_workflow_binding b
                       join bpm_core.workflow_node n on n.tenant_id = b.tenant_id and n.workflow_version_id = b.workflow_version_id and n.node_id = o.node_id
                      where b.tenant_id = p_tenant_id and b.process_version_id = o.process_version_id and n.kind in ('MessageStart', 'SignalStart', 'TimerStart'));
end
$$;

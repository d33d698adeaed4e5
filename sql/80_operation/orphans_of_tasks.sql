-- References of tasks, attempts, results, reviews, dead letters, approvals and commands that are no foreign keys, and point at nothing.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_tasks(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select 'task', t.id::text, x.refers_to, x.which
    from bpm_core.task_instance t
    left join bpm_core.token k on k.tenant_id = t.tenant_id and k.id = t.token_id and k.workflow_instance_id = t.workflow_instance_id
    left join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
   cross join lateral (values
     ('token of its instance', t.token_id::text, k.id is null),
     -- Claims look into no other levels: it would never be handed out.
     ('level of its type', t.priority_level::text, t.state = 'Ready' and not exists (
       select from bpm_core.task_level l where l.tenant_id = t.tenant_id and l.task_type = t.task_type and l.priority_level = t.priority_level)),
     ('binding of its node to its task version', t.node_id, not exists (
       select
         from bpm_core.pinned_version v
         join bpm_core.workflow_task_binding b on b.tenant_id = v.tenant_id and b.workflow_version_id = v.workflow_version_id and b.node_id = t.node_id
        where v.tenant_id = w.tenant_id and v.workflow_instance_id = w.id and b.task_version_id = t.task_version_id
          and (not v.is_past or t.state in ('Completed', 'Failed', 'Cancelled'))))) x(refers_to, which, broken)
   where t.tenant_id = p_tenant_id and x.broken
  union all
  select o.kind, o.task_id::text, 'task', o.task_id::text
    from (
      -- What facts rest on outlives its instance.
      select 'execution' as kind, e.task_instance_id as task_id
        from bpm_core.execution e
       where e.tenant_id = p_tenant_id
         and not exists (select from bpm_core.fact f where f.tenant_id = e.tenant_id and f.task_instance_id = e.task_instance_id and f.attempt = e.attempt)
      union all
      select 'result', r.task_instance_id
        from bpm_core.result r
       where r.tenant_id = p_tenant_id
         and not exists (select from bpm_core.fact f where f.tenant_id = r.tenant_id and f.task_instance_id = r.task_instance_id and f.attempt = r.attempt)
      union all
      select 'review', r.task_instance_id
        from bpm_core.review r
       where r.tenant_id = p_tenant_id and not exists (select from bpm_core.fact f where f.tenant_id = r.tenant_id and f.review_id = r.id)
      union all
      select 'dead_letter', d.task_instance_id from bpm_core.dead_letter d where d.tenant_id = p_tenant_id and d.task_instance_id is not null) o
    left join bpm_core.task_instance t on t.tenant_id = p_tenant_id and t.id = o.task_id
   where t.id is null
  union all
  select 'dead_letter', d.id::text, x.refers_to, x.which
    from bpm_core.dead_letter d
    left join bpm_core.token k on k.tenant_id = d.tenant_id and k.id = d.token_id and k.workflow_instance_id = d.workflow_instance_id
    left join bpm_core.outbox c on c.tenant_id = d.tenant_id and c.id = d.outbox_id
    left join bpm_core.incident i on i.tenant_id = d.tenant_id and i.id = d.incident_id
   cross join lateral (values
     ('token of its instance', d.token_id::text, d.token_id is not null and k.id is null),
     ('command', d.outbox_id::text, d.outbox_id is not null and c.id is null),
     ('incident', d.incident_id::text, d.incident_id is not null and i.id is null)) x(refers_to, which, broken)
   where d.tenant_id = p_tenant_id and x.broken
  union all
  select o.kind, o.id::text, 'token of its instance', o.token_id::text
    from (
      select 'command' as kind, c.id, c.workflow_instance_id, c.token_id from bpm_core.outbox c where c.tenant_id = p_tenant_id
      union all
      select 'approval', a.id, a.workflow_instance_id, a.token_id from bpm_core.approval_record a where a.tenant_id = p_tenant_id) o
    left join bpm_core.token k on k.tenant_id = p_tenant_id and k.id = o.token_id and k.workflow_instance_id = o.workflow_instance_id
   where k.id is null;
end
$$;

-- References of compensation records that are no foreign keys, and point at nothing: scopes, nodes, the token that waits, the scope of the handler.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_compensation(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'compensation_record', r.id::text, x.refers_to, x.which
    from bpm_core.compensation_record r
    join bpm_core.workflow_instance w on w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id
    left join bpm_core.scope s on s.tenant_id = r.tenant_id and s.id = r.scope_id
    left join bpm_core.scope i on i.tenant_id = r.tenant_id and i.id = r.inner_scope_id
    left join bpm_core.scope h on h.tenant_id = r.tenant_id and h.id = r.handler_scope_id
    left join bpm_core.token t on t.tenant_id = r.tenant_id and t.id = r.thrower_token_id
    left join bpm_core.workflow_node a on a.tenant_id = w.tenant_id and a.workflow_version_id = w.workflow_version_id and a.node_id = r.node_id
    left join bpm_core.workflow_node e on e.tenant_id = w.tenant_id and e.workflow_version_id = w.workflow_version_id and e.node_id = r.event_id
    left join bpm_core.workflow_node u on u.tenant_id = w.tenant_id and u.workflow_version_id = w.workflow_version_id and u.node_id = r.handler_ref
   cross join lateral (values
     ('scope', r.scope_id::text, r.scope_id <> bpm_core.root_scope() and s.workflow_instance_id is distinct from r.workflow_instance_id),
     ('scope inside', r.inner_scope_id::text, r.inner_scope_id is not null and i.workflow_instance_id is distinct from r.workflow_instance_id),
     ('scope of its handler', r.handler_scope_id::text,
      r.handler_scope_id is not null and (h.host_token_id is distinct from r.thrower_token_id or not h.is_copy)),
     ('token of its instance', r.thrower_token_id::text, r.thrower_token_id is not null and t.workflow_instance_id is distinct from r.workflow_instance_id),
     ('node', r.node_id, a.node_id is null),
     ('node', r.event_id, e.node_id is null),
     ('node', r.handler_ref, u.node_id is null)) x(refers_to, which, broken)
   where r.tenant_id = p_tenant_id and x.broken
$$;

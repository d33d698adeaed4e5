-- References of compensation records that are no foreign keys, and point at nothing: scopes, nodes, the token that waits, the scope of the handler.
-- Returns:  rows (kind, id, refers_to, which).
create or replace function bpm_core.orphans_of_compensation(p_tenant_id text)
returns table (kind text, id text, refers_to text, which text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select 'compensation_record', r.id::text, x.refers_to, x.which
    from bpm_core.compensation_record r
    join bpm_core.workflow_instance w on w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id
    left join bpm_core.scope s on s.tenant_id = r.tenant_id and s.id = r.scope_id
    left join bpm_core.scope i on i.tenant_id = r.tenant_id and i.id = r.inner_scope_id
    left join bpm_core.scope h on h.tenant_id = r.tenant_id and h.id = r.handler_scope_id
    left join bpm_core.token t on t.tenant_id = r.tenant_id and t.id = r.thrower_token_id
   cross join lateral (values
     ('scope', r.scope_id::text, r.scope_id <> bpm_core.root_scope() and s.workflow_instance_id is distinct from r.workflow_instance_id),
     ('scope inside', r.inner_scope_id::text, r.inner_scope_id is not null and i.workflow_instance_id is distinct from r.workflow_instance_id),
     ('scope of its handler', r.handler_scope_id::text,
      r.handler_scope_id is not null and (h.host_token_id is distinct from r.thrower_token_id or not h.is_copy)),
     ('token of its instance', r.thrower_token_id::text, r.thrower_token_id is not null and t.workflow_instance_id is distinct from r.workflow_instance_id),
     ('node', r.node_id, false), ('node', r.event_id, false), ('node', r.handler_ref, false)) x(refers_to, which, broken)
   where r.tenant_id = p_tenant_id
     and (x.broken
          or x.refers_to = 'node' and not exists (
            select
              from bpm_core.pinned_version v
              join bpm_core.workflow_node n on n.tenant_id = v.tenant_id and n.workflow_version_id = v.workflow_version_id and n.node_id = x.which
             where v.tenant_id = w.tenant_id and v.workflow_instance_id = w.id and (r.status <> 'Pending' or not v.is_past)));
end
$$;

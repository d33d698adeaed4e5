-- I-27: live_tokens of instances and scopes equals the count, an open scope has its host, and every reference that is not a foreign key points at a row (orphans).
create or replace function bpm_core.invariant_i_27(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-27', w.tenant_id, 'workflow_instance', w.id::text, 'live_tokens is not the count',
           jsonb_build_object('live_tokens', w.live_tokens, 'counted', coalesce(k.live, 0)))
    from bpm_core.workflow_instance w
    left join (select k.workflow_instance_id, count(*) as live
                 from bpm_core.token k
                where k.tenant_id = p_tenant_id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed')
                group by k.workflow_instance_id) k on k.workflow_instance_id = w.id
   where w.tenant_id = p_tenant_id and w.live_tokens <> coalesce(k.live, 0)
  union all
  select bpm_core.violation_of('I-27', s.tenant_id, 'scope', s.id::text, x.rule,
           jsonb_build_object('state', s.state, 'live_tokens', s.live_tokens, 'counted', coalesce(k.live, 0), 'host', h.state, 'host_node', h.node_id))
    from bpm_core.scope s
    left join bpm_core.token h on h.tenant_id = s.tenant_id and h.id = s.host_token_id
    left join (select k.scope_id, count(*) as live
                 from bpm_core.token k
                where k.tenant_id = p_tenant_id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed')
                group by k.scope_id) k on k.scope_id = s.id
   cross join lateral (values
     ('live_tokens is not the count', s.live_tokens <> coalesce(k.live, 0)),
     ('open without a token in it', s.state = 'Open' and s.live_tokens = 0),
     ('open, but its host is elsewhere', s.state = 'Open' and (h.state is distinct from 'Waiting' or h.node_id <> s.node_id
        or h.scope_id <> coalesce(s.parent_scope_id, bpm_core.root_scope()) or h.workflow_instance_id <> s.workflow_instance_id))) x(rule, broken)
   where s.tenant_id = p_tenant_id and x.broken
  union all
  select v from bpm_core.invariant_i_27_loops(p_tenant_id) v
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_catalog(p_tenant_id) o
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_instances(p_tenant_id) o
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_tasks(p_tenant_id) o
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_compensation(p_tenant_id) o
  union all
  select bpm_core.violation_of(b.invariant, p_tenant_id, b.kind, b.id, b.rule, b.seen)
    from bpm_core.broken_bindings(p_tenant_id) b where b.invariant = 'I-27'
  ) q(v);
end
$$;

-- I-27, of multi-instances and loops: the host waits at the node; the items that have ended, those that go on and those not begun are all there are;
-- items to come of a parallel one have their row in the inbox.
create or replace function bpm_core.invariant_i_27_loops(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-27', m.tenant_id, 'multi_instance', m.host_token_id::text, x.rule,
           jsonb_build_object('total', m.total, 'created', m.created, 'done', m.done, 'open', coalesce(s.open, 0), 'completed', coalesce(s.completed, 0),
                              'host', h.state, 'host_node', h.node_id))
    from bpm_core.multi_instance m
    left join bpm_core.token h on h.tenant_id = m.tenant_id and h.id = m.host_token_id
    left join (select s.host_token_id, s.visit, count(*) filter (where s.state = 'Open') as open, count(*) filter (where s.state = 'Completed') as completed
                 from bpm_core.scope s
                where s.tenant_id = p_tenant_id and s.mi_index is not null
                group by s.host_token_id, s.visit) s on s.host_token_id = m.host_token_id and s.visit = m.visit
    left join (select i.payload ->> 'host' as host
                 from bpm_core.inbox i
                where i.tenant_id = p_tenant_id and i.kind = 'Continue'
                group by i.payload ->> 'host') i on i.host = m.host_token_id::text
   cross join lateral (values
     ('the host does not wait at it', h.state is distinct from 'Waiting' or h.node_id <> m.node_id or h.visit <> m.visit
        or h.workflow_instance_id <> m.workflow_instance_id),
     ('ended, going on and not begun are not the total', m.done <> coalesce(s.completed, 0) or m.created - m.done <> coalesce(s.open, 0)),
     ('nothing goes on, and nothing will', m.created = m.done and (m.mode <> 'Parallel' or m.created = m.total)),
     ('items to come that nobody begins', m.mode = 'Parallel' and m.created < m.total and i.host is null
        and not exists (select from bpm_core.dead_letter d where d.tenant_id = m.tenant_id and d.payload ->> 'host' = m.host_token_id::text and d.state = 'Open'))
     ) x(rule, broken)
   where m.tenant_id = p_tenant_id and x.broken
  ) q(v);
end
$$;

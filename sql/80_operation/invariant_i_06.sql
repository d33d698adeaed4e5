-- I-06: a join fires once per round, with one token from every distinct incoming flow; join counts equal arrivals. An inclusive join takes one
-- from every flow that has brought one, at least one, and fires as soon as it may (unsettled_inclusive_joins).
create or replace function bpm_core.invariant_i_06(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  with round as (
    select j.tenant_id, j.workflow_instance_id, j.scope_id, j.node_id, j.round, j.expected, j.joined, j.fired_at is not null as fired,
           n.kind, n.incoming, w.created_at >= (select bpm_core.history_since()) as recorded,
           (select count(*)
              from bpm_core.parallel_join_arrival a
              join bpm_core.workflow_flow f
                on f.tenant_id = w.tenant_id and f.workflow_version_id = w.workflow_version_id and f.flow_id = a.flow_id and f.target_id = a.node_id
             where a.tenant_id = j.tenant_id and a.workflow_instance_id = j.workflow_instance_id and a.scope_id = j.scope_id
               and a.node_id = j.node_id and a.round = j.round) as arrived
      from bpm_core.parallel_join j
      join bpm_core.workflow_instance w on w.tenant_id = j.tenant_id and w.id = j.workflow_instance_id
      left join bpm_core.workflow_node n
        on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = j.node_id
     where j.tenant_id = p_tenant_id
       -- A round that fired before a migration was counted by the flows of that time.
       and not (j.fired_at is not null
                and exists (select from bpm_core.instance_migration m where m.tenant_id = j.tenant_id and m.workflow_instance_id = j.workflow_instance_id))),
  firing as (
    select h.workflow_instance_id, coalesce(k.scope_id, bpm_core.root_scope()) as scope_id, h.node_id, (h.detail ->> 'round')::integer as round, count(*) as times
      from bpm_core.history_event h
      left join bpm_core.token k on k.tenant_id = h.tenant_id and k.id = h.token_id
     where h.tenant_id = p_tenant_id and h.kind = 'JoinFired'
     group by h.workflow_instance_id, coalesce(k.scope_id, bpm_core.root_scope()), h.node_id, (h.detail ->> 'round')::integer)
  select bpm_core.violation_of('I-06', p_tenant_id, 'join', format('%s round %s of instance %s', r.node_id, r.round, r.workflow_instance_id), x.rule,
           jsonb_build_object('expected', r.expected, 'incoming', r.incoming, 'joined', r.joined, 'arrived', r.arrived, 'fired', r.fired,
                              'times', coalesce(f.times, 0)))
    from round r
    left join firing f on f.workflow_instance_id = r.workflow_instance_id and f.scope_id = r.scope_id and f.node_id = r.node_id and f.round = r.round
   cross join lateral (values
     ('joined is not the number of arrivals', r.joined <> r.arrived),
     ('expected is not the number of incoming flows',
      case when r.kind = 'InclusiveJoin' then r.expected > r.incoming else r.expected is distinct from r.incoming end),
     ('an inclusive join that did not fire keeps a round', r.kind = 'InclusiveJoin' and not r.fired),
     ('complete, but did not fire', r.joined = r.expected and not r.fired),
     ('fired not once', r.recorded and coalesce(f.times, 0) <> r.fired::integer)) x(rule, broken)
   where x.broken
  union all
  select bpm_core.violation_of('I-06', p_tenant_id, 'join', format('%s round %s of instance %s', a.node_id, a.round, a.workflow_instance_id),
           'an arrival without its round', jsonb_build_object('flow', a.flow_id, 'token', a.token_id))
    from bpm_core.parallel_join_arrival a
   where a.tenant_id = p_tenant_id
     and not exists (select
                       from bpm_core.parallel_join j
                      where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.workflow_instance_id and j.scope_id = a.scope_id
                        and j.node_id = a.node_id and j.round = a.round)
     and not exists (select
                       from bpm_core.inclusive_join j
                      where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.workflow_instance_id and j.scope_id = a.scope_id
                        and j.node_id = a.node_id and j.round <= a.round)
  union all
  select bpm_core.violation_of('I-06', p_tenant_id, 'join', format('%s of instance %s', u.node_id, u.workflow_instance_id), u.rule, u.seen)
    from bpm_core.unsettled_inclusive_joins(p_tenant_id) u
  ) q(v);
end
$$;

-- Inclusive joins of running instances that do not say what waits at them, or that wait although they may fire. Which flows a token can still
-- come over is found here by walking the flows of the graph backwards, not from what was worked out at deploy.
-- Returns:  rows (workflow_instance_id, node_id, rule, seen).
create or replace function bpm_core.unsettled_inclusive_joins(p_tenant_id text)
returns table (workflow_instance_id uuid, node_id text, rule text, seen jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive waits as materialized (
    select j.workflow_instance_id, j.scope_id, j.node_id, j.round, j.waiting, bit_count(j.filled) as filled, w.workflow_version_id, w.status,
           coalesce(a.flows, '{}') as flows, coalesce(a.arrivals, 0) as arrivals, coalesce(a.live, 0) as live
      from bpm_core.inclusive_join j
      join bpm_core.workflow_instance w on w.tenant_id = j.tenant_id and w.id = j.workflow_instance_id
      left join lateral (
        select array_agg(a.flow_id) filter (where a.round = j.round) as flows, count(*) as arrivals,
               count(*) filter (where k.state = 'Waiting' and k.node_id = j.node_id) as live
          from bpm_core.parallel_join_arrival a
          join bpm_core.token k on k.tenant_id = a.tenant_id and k.id = a.token_id
         where a.tenant_id = j.tenant_id and a.workflow_instance_id = j.workflow_instance_id and a.scope_id = j.scope_id
           and a.node_id = j.node_id and a.round >= j.round) a on true
     where j.tenant_id = p_tenant_id and w.status in ('Running', 'Suspended')),
  -- Steps backwards; a boundary event is reached from its host.
  step as materialized (
    select f.workflow_version_id, f.source_id, f.target_id, f.flow_id
      from bpm_core.workflow_flow f
     where f.tenant_id = p_tenant_id and f.workflow_version_id in (select w.workflow_version_id from waits w)
    union all
    select n.workflow_version_id, n.attached_to, n.node_id, null
      from bpm_core.workflow_node n
     where n.tenant_id = p_tenant_id and n.workflow_version_id in (select w.workflow_version_id from waits w)
       and n.attached_to is not null and n.element <> 'startEvent'),
  -- From which nodes a flow into a join is reached without passing the join.
  reaching (workflow_version_id, join_id, flow_id, node_id) as (
    select s.workflow_version_id, s.target_id, s.flow_id, s.source_id
      from step s
     where (s.workflow_version_id, s.target_id) in (select w.workflow_version_id, w.node_id from waits w where w.live > 0)
    union
    select r.workflow_version_id, r.join_id, r.flow_id, s.source_id
      from reaching r
      join step s on s.workflow_version_id = r.workflow_version_id and s.target_id = r.node_id
     where r.node_id <> r.join_id),
  elsewhere as (
    select w.workflow_instance_id, w.scope_id, w.node_id, w.workflow_version_id, w.flows, k.id, k.node_id as at_id, k.via_flow_id
      from waits w
      join bpm_core.token k on k.tenant_id = p_tenant_id and k.workflow_instance_id = w.workflow_instance_id and k.scope_id = w.scope_id
     where k.state in ('Ready', 'Executing', 'Waiting', 'Failed') and (k.node_id <> w.node_id or k.state <> 'Waiting')),
  comes as (
    select e.workflow_instance_id, e.scope_id, e.node_id, e.id, bool_or(r.flow_id = any (e.flows)) as over_filled
      from elsewhere e
      join reaching r on r.workflow_version_id = e.workflow_version_id and r.join_id = e.node_id and r.node_id = e.at_id
     where e.at_id <> e.node_id
     group by e.workflow_instance_id, e.scope_id, e.node_id, e.id
    union all
    select e.workflow_instance_id, e.scope_id, e.node_id, e.id, e.via_flow_id = any (e.flows) from elsewhere e where e.at_id = e.node_id),
  blocked as (select distinct c.workflow_instance_id, c.scope_id, c.node_id from comes c where not c.over_filled)
  select w.workflow_instance_id, w.node_id, x.rule,
         jsonb_build_object('round', w.round, 'waiting', w.waiting, 'filled', w.filled, 'arrivals', w.arrivals, 'live', w.live, 'flows', w.flows)
    from waits w
    left join blocked b on b.workflow_instance_id = w.workflow_instance_id and b.scope_id = w.scope_id and b.node_id = w.node_id
   cross join lateral (values
     ('waiting is not the number of arrivals', w.waiting <> w.arrivals),
     ('filled is not the number of flows that brought a token', w.filled <> cardinality(w.flows)),
     ('some of what waits is no longer there', w.live <> w.arrivals),
     ('may fire, but did not', w.status = 'Running' and b.node_id is null)) x(rule, broken)
   where w.live > 0 and x.broken
$$;

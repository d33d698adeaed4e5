-- What the hosts that enter multi-instances or loops have to do. At most 1,000 items begin in this command, shared out in the order given.
-- Returns:  loop_plan[]: total 0 where there is nothing to do; with trouble where it cannot be said, or would be too many.
create or replace function bpm_core.plan_loops(p_hosts bpm_core.moving[])
returns bpm_core.loop_plan[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_chunk constant integer := 1000;
begin
  return array(
    with host as materialized (
      select row(h.tenant_id, h.instance_id, h.version_id, h.scope_id, h.token_id, h.node_id, h.flow_id, h.kind)::bpm_core.moving as host,
             h.ordinality as ord, t.visit, t.steps, n.spec, v.variables, e.value, bpm_core.loop_total(n.spec, e.value) as total
        from unnest(p_hosts) with ordinality h
       cross join lateral (select t.visit, t.steps from bpm_core.token t where t.tenant_id = h.tenant_id and t.id = h.token_id offset 0) t
       cross join lateral (select n.expressions -> 'loop' as spec from bpm_core.workflow_node n
                            where n.tenant_id = h.tenant_id and n.workflow_version_id = h.version_id and n.node_id = h.node_id offset 0) n
       cross join lateral bpm_core.token_variables(h.tenant_id, h.instance_id, h.scope_id) v
       cross join lateral (select bpm_core.loop_value(n.spec, v.variables) as value offset 0) e),
    counted as materialized (
      select h.*, row_number() over (partition by (h.host).instance_id order by h.ord) as nth,
             sum(case when h.spec ->> 'mode' = 'Parallel' then h.total end) over (partition by (h.host).instance_id order by h.ord) as wanted,
             coalesce(sum(case when h.spec ->> 'mode' = 'Parallel' then h.total end) over (order by h.ord rows between unbounded preceding and 1 preceding), 0) as before
        from host h),
    placed as materialized (
      select c.*, max(r.taken) over (partition by (c.host).instance_id) + c.wanted as needed
        from counted c
        left join lateral (
          select w.live_tokens + coalesce((select sum(m.total - m.created) from bpm_core.multi_instance m
                                            where m.workflow_instance_id = w.id and m.mode = 'Parallel'), 0) as taken
            from bpm_core.workflow_instance w
           where w.tenant_id = (c.host).tenant_id and w.id = (c.host).instance_id and c.nth = 1 and c.wanted > 0 offset 0) r on true)
    select row(p.host, p.visit, p.steps, p.spec ->> 'mode', p.spec, bpm_core.loop_declared(p.spec, p.variables), p.total,
               case when p.spec ->> 'mode' = 'Parallel' then least(p.total, greatest(v_chunk - p.before, 0)) else least(p.total, 1) end,
               case when p.spec ? 'collection' then p.value end,
               bpm_core.loop_trouble(p.host, p.spec, p.value, p.variables, p.total, p.needed))::bpm_core.loop_plan
      from placed p
     order by p.ord);
end
$$;

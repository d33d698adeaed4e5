-- KIND inclusive join: the token waits. Whether the join fires is decided when nothing moves any more (fire_inclusive_joins). The first
-- token over a flow since the last firing belongs to the round that is collected, the next one over the same flow to the round after it.
-- Returns:  moving[], none. Writes: token, inclusive_join, parallel_join_arrival, history_event.
create or replace function bpm_core.enter_inclusive_joins(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with arrival as materialized (
    select a.tenant_id, a.instance_id, a.scope_id, a.token_id, a.node_id, a.flow_id, p.place, p.first_place, p.flows, c.round as collects,
           greatest(c.round, coalesce(before.round, 0) + 1) - 1
           + row_number() over (partition by a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.flow_id order by a.token_id) as round
      from unnest(p_arriving) a
     cross join lateral (select p.place, p.first_place, p.flows from bpm_core.inclusive_flow p
                          where p.tenant_id = a.tenant_id and p.workflow_version_id = a.version_id and p.node_id = a.node_id
                            and p.flow_id = a.flow_id offset 0) p
     cross join lateral (
       select coalesce(
         (select j.round
            from bpm_core.inclusive_join j
           where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id),
         (select j.round + 1
            from bpm_core.parallel_join j
           where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id
           order by j.round desc
           limit 1),
         1) as round offset 0) c
      left join lateral (
        select r.round
          from bpm_core.parallel_join_arrival r
         where r.tenant_id = a.tenant_id and r.workflow_instance_id = a.instance_id and r.scope_id = a.scope_id
           and r.node_id = a.node_id and r.flow_id = a.flow_id
         order by r.round desc
         limit 1) before on true),
  kept as (
    insert into bpm_core.parallel_join_arrival (tenant_id, workflow_instance_id, scope_id, node_id, flow_id, round, token_id)
    select a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.flow_id, a.round, a.token_id
      from arrival a),
  rested as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Waiting', visit = t.visit + 1, version = t.version + 1, updated_at = v_now
      from arrival a
     where t.tenant_id = a.tenant_id and t.id = a.token_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select a.tenant_id, a.instance_id, v_now, 'JoinReached', a.token_id, a.node_id, 'Waiting', jsonb_build_object('flow', a.flow_id, 'round', a.round)
      from arrival a)
  insert into bpm_core.inclusive_join as j (tenant_id, workflow_instance_id, scope_id, node_id, round, waiting, filled)
  select a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.collects, count(*),
         bit_or(set_bit(repeat('0', a.flows)::bit varying, a.place - a.first_place, 1))
    from arrival a
   group by a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.collects
  on conflict (tenant_id, workflow_instance_id, scope_id, node_id) do update
    set waiting = j.waiting + excluded.waiting, filled = j.filled | excluded.filled;
  return '{}'::bpm_core.moving[];
end
$$;

-- KIND parallel join: one token of every distinct incoming flow of the same scope. The n-th token over a flow belongs to round n;
-- a round fires when every flow has reached it, once; surplus waits for the next round.
-- Writes:   token, parallel_join, parallel_join_arrival, history_event.
create or replace function bpm_core.enter_parallel_joins(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_fired bpm_core.parallel_join[];
begin
  with arrival as materialized (
    select a.tenant_id, a.instance_id, a.scope_id, a.token_id, a.node_id, a.flow_id, n.incoming,
           coalesce(before.round, 0) + row_number() over (partition by a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.flow_id
                                                          order by a.token_id) as round
      from unnest(p_arriving) a
     cross join lateral (select n.incoming from bpm_core.workflow_node n
                          where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
      left join lateral (
        select j.round
          from bpm_core.parallel_join_arrival j
         where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.instance_id and j.scope_id = a.scope_id
           and j.node_id = a.node_id and j.flow_id = a.flow_id
         order by j.round desc
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
      from arrival a),
  counted as (
    insert into bpm_core.parallel_join as j (tenant_id, workflow_instance_id, scope_id, node_id, round, expected, joined)
    select a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.round, a.incoming, count(*)
      from arrival a
     group by a.tenant_id, a.instance_id, a.scope_id, a.node_id, a.round, a.incoming
    on conflict (tenant_id, workflow_instance_id, scope_id, node_id, round) do update set joined = j.joined + excluded.joined
    returning j.*)
  select array_agg(c::bpm_core.parallel_join) into v_fired
    from counted c
   where c.joined = c.expected;
  if v_fired is not null then
    return bpm_core.fire_joins(v_fired);
  end if;
  return '{}'::bpm_core.moving[];
end
$$;

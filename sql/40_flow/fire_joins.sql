-- Fires complete rounds: of each round's tokens one goes on, the others are consumed. It goes on with the fewest steps of them: if one
-- of them had come to rest on its way, so had the round; if none had, the loop budget goes on counting.
-- Returns:  moving[], the survivors, leaving. Writes: parallel_join, token, workflow_instance and scope (live_tokens), history_event.
create or replace function bpm_core.fire_joins(p_rounds bpm_core.parallel_join[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz := bpm_core.now();
  v_leaving bpm_core.moving[];
begin
  update bpm_core.parallel_join j
     set fired_at = v_now
    from unnest(p_rounds) r
   where j.tenant_id = r.tenant_id and j.workflow_instance_id = r.workflow_instance_id and j.scope_id = r.scope_id
     and j.node_id = r.node_id and j.round = r.round;
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens - d.fewer
    from (select r.tenant_id, r.workflow_instance_id, sum(r.expected - 1)::integer as fewer
            from unnest(p_rounds) r group by r.tenant_id, r.workflow_instance_id) d
   where w.tenant_id = d.tenant_id and w.id = d.workflow_instance_id and d.fewer > 0;
  update bpm_core.scope s
     set live_tokens = s.live_tokens - d.fewer
    from (select r.tenant_id, r.scope_id, sum(r.expected - 1)::integer as fewer
            from unnest(p_rounds) r where r.scope_id <> bpm_core.root_scope() group by r.tenant_id, r.scope_id) d
   where s.tenant_id = d.tenant_id and s.id = d.scope_id and d.fewer > 0;
  with member as materialized (
    select r.tenant_id, r.workflow_instance_id, r.scope_id, r.node_id, r.round, a.token_id, w.workflow_version_id,
           row_number() over (partition by r.tenant_id, r.workflow_instance_id, r.scope_id, r.node_id, r.round order by t.steps, a.flow_id) = 1 as survives
      from unnest(p_rounds) r
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id offset 0) w
     cross join lateral (select f.flow_id from bpm_core.workflow_flow f
                          where f.tenant_id = r.tenant_id and f.workflow_version_id = w.workflow_version_id and f.target_id = r.node_id offset 0) f
     cross join lateral (select a.token_id, a.flow_id from bpm_core.parallel_join_arrival a
                          where a.tenant_id = r.tenant_id and a.workflow_instance_id = r.workflow_instance_id and a.scope_id = r.scope_id
                            and a.node_id = r.node_id and a.flow_id = f.flow_id and a.round = r.round offset 0) a
     cross join lateral (select t.steps from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = a.token_id offset 0) t),
  consumed as (
    update bpm_core.token t
       set state = 'Completed', version = t.version + 1, updated_at = v_now
      from member m
     where t.tenant_id = m.tenant_id and t.id = m.token_id and not m.survives),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select m.tenant_id, m.workflow_instance_id, v_now,
           case when m.survives then 'JoinFired' else 'TokenCompleted' end::bpm_core.history_kind,
           m.token_id, m.node_id, case when not m.survives then 'Completed' end, jsonb_build_object('round', m.round)
      from member m)
  select array_agg(row(m.tenant_id, m.workflow_instance_id, m.workflow_version_id, m.scope_id, m.token_id, m.node_id, null, null)::bpm_core.moving)
    into v_leaving
    from member m
   where m.survives;
  return v_leaving;
end
$$;

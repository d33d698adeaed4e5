-- Leaves tokens Ready where they would have entered next, for tick to go on with; past the loop budget they become incidents.
-- p_hops is how far they have come in this command, p_delay how long tick leaves them alone. Writes: token, incident, history_event.
create or replace function bpm_core.park_tokens(p_arriving bpm_core.moving[], p_hops integer, p_delay interval default interval '0')
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_loop_budget integer;
  v_now         timestamptz := bpm_core.now();
  v_endless     bpm_core.trouble[];
begin
  if cardinality(p_arriving) = 0 then
    return;
  end if;
  v_loop_budget := (bpm_core.setting_value('engine.loop_budget', '10000'))::integer;
  with parked as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Ready', ready_at = v_now + p_delay, steps = t.steps + p_hops,
           version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id
    returning a as token, t.steps),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select (p.token).tenant_id, (p.token).instance_id, v_now, 'TokenParked', (p.token).token_id, (p.token).node_id, 'Ready',
           jsonb_build_object('flow', (p.token).flow_id)
      from parked p)
  select array_agg(row(p.token, 'LoopBudget', format('The token made %s hops without coming to rest.', p.steps),
                       jsonb_build_object('steps', p.steps, 'node', (p.token).node_id))::bpm_core.trouble)
    into v_endless
    from parked p
   where p.steps >= v_loop_budget;
  if p_delay = interval '0' then
    perform bpm_core.wake_sleepers('tick', (p_arriving[1]).tenant_id);
  end if;
  perform bpm_core.open_incidents(v_endless);
end
$$;

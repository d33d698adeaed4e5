-- KIND end event: the token ends; a scope or an instance without a live token ends with it, the instance in the same row write.
-- Returns:  moving[], the hosts of scopes that ended. Writes: token, workflow_instance, process_instance, history_event; scope.
create or replace function bpm_core.enter_end_events(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_ended uuid[];
begin
  update bpm_core.token t
     set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
    from unnest(p_arriving) a
   where t.tenant_id = a.tenant_id and t.id = a.token_id;
  with fewer as (
    select a.tenant_id, a.instance_id, count(*)::integer as tokens
      from unnest(p_arriving) a
     group by a.tenant_id, a.instance_id),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens - f.tokens,
           status      = case when w.live_tokens = f.tokens then 'Completed'::bpm_core.workflow_status else w.status end,
           ended_at    = case when w.live_tokens = f.tokens then v_now end
      from fewer f
     where w.tenant_id = f.tenant_id and w.id = f.instance_id
    returning w.id, w.live_tokens)
  select array_agg(c.id) filter (where c.live_tokens = 0) into v_ended
    from counted c;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select a.tenant_id, a.instance_id, v_now, 'TokenCompleted', a.token_id, a.node_id, 'Completed'
    from unnest(p_arriving) a;
  if v_ended is not null then
    perform bpm_core.end_instances((p_arriving[1]).tenant_id, v_ended, 'Completed', v_now);
  end if;
  if exists (select from unnest(p_arriving) a where a.scope_id <> bpm_core.root_scope()) then
    return bpm_core.map_scope_outputs((p_arriving[1]).tenant_id,
      bpm_core.end_scopes((p_arriving[1]).tenant_id, bpm_core.count_in_scopes('{}', p_arriving), p_arriving));
  end if;
  return '{}'::bpm_core.moving[];
end
$$;

-- KIND terminate end: the token ends and takes every other token of its instance with it. The instance is Completed.
create or replace function bpm_core.enter_terminate_ends(p_arriving bpm_core.moving[])
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
  update bpm_core.token t
     set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
    from unnest(p_arriving) a
   where t.tenant_id = a.tenant_id and t.id = a.token_id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select a.tenant_id, a.instance_id, v_now, 'TokenCompleted', a.token_id, a.node_id, 'Completed'
    from unnest(p_arriving) a;
  perform bpm_core.terminate_instances((p_arriving[1]).tenant_id, array(select distinct a.instance_id from unnest(p_arriving) a), 'Completed');
  return '{}'::bpm_core.moving[];
end
$$;

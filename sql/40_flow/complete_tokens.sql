-- Ends tokens at the nodes they arrive at, and counts them out of their instances and scopes. Whether that ends anything is for the caller.
-- Returns:  uuid[], the scopes left without a token. Writes: token, workflow_instance (live_tokens), scope, history_event.
create or replace function bpm_core.complete_tokens(p_arriving bpm_core.moving[])
returns uuid[]
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
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens - d.fewer
    from (select a.tenant_id, a.instance_id, count(*)::integer as fewer from unnest(p_arriving) a group by a.tenant_id, a.instance_id) d
   where w.tenant_id = d.tenant_id and w.id = d.instance_id;
  return bpm_core.count_in_scopes('{}', p_arriving);
end
$$;

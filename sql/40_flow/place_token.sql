-- Puts a token before a node by hand and lets it enter. The instance is locked, what the token offered is closed, the node was checked.
-- p_token: where it stood. Writes: token, history_event, and what the nodes ahead write.
create or replace function bpm_core.place_token(p_token bpm_core.moving, p_node_id text, p_actor text, p_reason text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  select t.tenant_id, t.workflow_instance_id, v_now, 'TokenPlaced', t.id, p_node_id, t.state::text, 'Ready', p_actor,
         jsonb_strip_nulls(jsonb_build_object('from', p_token.node_id, 'reason', p_reason))
    from bpm_core.token t
   where t.tenant_id = p_token.tenant_id and t.id = p_token.token_id;
  update bpm_core.token t
     set node_id = p_node_id, via_flow_id = null, state = 'Ready', ready_at = v_now, steps = 0, version = t.version + 1, updated_at = v_now
   where t.tenant_id = p_token.tenant_id and t.id = p_token.token_id;
  perform bpm_core.resume_tokens(p_token.tenant_id, array[p_token.token_id]);
end
$$;

-- Lets a token leave its node by hand, as if what it waits for there were done: by the only flow, or the one named. What it offered is closed; variables
-- are patched where a task's would be; output mappings are not applied, so give the names they would write.
-- Returns:  one row: token_id, node_id and state where it came to rest (of one that ended: where), instance_status (workflow).
-- Raises:   BP403, BP404 no such token, BP409 it has ended, BP422 no flow leaves the node, several do and none is named, variables refused, reason too
--           long; BP423 suspended.
-- Writes:   token, workflow_instance, scope, history_event, audit_event, and what lift_token and the nodes ahead write. Locks: workflow_instance.
create or replace function bpm.skip_node(
  p_token_id uuid, p_variables jsonb default '{}', p_flow_id text default null, p_reason text default null, p_actor text default null,
  p_tenant_id text default '')
returns table (token_id uuid, node_id text, state text, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor     text;
  v_variables jsonb;
  v_token     bpm_core.moving;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  p_variables := coalesce(p_variables, '{}');
  if bpm_core.variables_fault(p_variables) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_variables));
  end if;
  v_variables := bpm_core.decode_variables(p_variables);
  v_token := bpm_core.lift_token(p_tenant_id, p_token_id);
  v_token.flow_id := bpm_core.way_out(v_token, p_flow_id);
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, actor, detail)
  select p_tenant_id, v_token.instance_id, bpm_core.now(), 'NodeSkipped', p_token_id, v_token.node_id, t.state::text, v_actor,
         jsonb_strip_nulls(jsonb_build_object('flow', v_token.flow_id, 'reason', p_reason)) || jsonb_build_object('variables', v_variables)
         || bpm_core.local_names(p_tenant_id, v_token.scope_id, v_variables)
    from bpm_core.token t
   where t.tenant_id = p_tenant_id and t.id = p_token_id;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SkipNode', 'token', p_token_id::text, null, p_reason,
    jsonb_build_object('workflow_instance_id', v_token.instance_id, 'node', v_token.node_id, 'flow', v_token.flow_id,
                       'names', (select jsonb_agg(k.name) from jsonb_object_keys(v_variables) k(name))));
  update bpm_core.workflow_instance w
     set variables = w.variables || bpm_core.patch_scopes(p_tenant_id, v_token.scope_id, v_variables)
   where w.tenant_id = p_tenant_id and w.id = v_token.instance_id;
  update bpm_core.token t
     set state = 'Executing', ready_at = null, steps = 0, version = t.version + 1, updated_at = bpm_core.now()
   where t.tenant_id = p_tenant_id and t.id = p_token_id;
  perform bpm_core.advance_isolated(array[v_token]);
  perform bpm_core.note_starved_joins(array[v_token]);
  return query select * from bpm_core.token_place(p_tenant_id, p_token_id);
end
$$;

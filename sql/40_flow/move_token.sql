-- Moves a token to another node of the same sub-process by hand: what it offered where it stands is closed (a task in hand too, its worker is told), and
-- the node is entered anew. The same node again is entered anew as well.
-- Returns:  one row: token_id, node_id and state where it came to rest, instance_status (workflow).
-- Raises:   BP403, BP404 no such token, BP409 it has ended, BP422 not there, and why; a reason too long; BP423 suspended.
-- Writes:   token, history_event, audit_event, and what lift_token and the nodes ahead write. Locks: workflow_instance.
create or replace function bpm.move_token(p_token_id uuid, p_node_id text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (token_id uuid, node_id text, state text, instance_status text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_token bpm_core.moving;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  v_token := bpm_core.lift_token(p_tenant_id, p_token_id);
  perform bpm_core.check_placement(v_token, p_node_id);
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'MoveToken', 'token', p_token_id::text, null, p_reason,
    jsonb_build_object('workflow_instance_id', v_token.instance_id, 'from', v_token.node_id, 'to', p_node_id));
  perform bpm_core.place_token(v_token, p_node_id, v_actor, p_reason);
  perform bpm_core.note_starved_joins(array[v_token]);
  return query select * from bpm_core.token_place(p_tenant_id, p_token_id);
end
$$;

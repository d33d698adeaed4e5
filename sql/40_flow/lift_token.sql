-- Takes a token off the node it stands at, for an operator: locks its instance, closes what it offered (task, timers, waits, approval, incidents, the
-- scope it is host of with everything inside), takes it out of a join it waits at.
-- Returns:  moving, the token at its node. It is still in its old state; the caller says where it goes.
-- Raises:   BP404 no such token. BP409 it has ended, or its instance has. BP422 as leave_join. BP423 its instance is suspended.
-- Writes:   workflow_instance, and what close_waits and leave_join write. Locks: workflow_instance.
create or replace function bpm_core.lift_token(p_tenant_id text, p_token_id uuid)
returns bpm_core.moving
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_token bpm_core.token;
  v_token bpm_core.moving;
begin
  select t.* into r_token from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = p_token_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no token %s.', coalesce(p_token_id::text, 'null')), null, 'bpm.get_process() lists the tokens of an instance.');
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[r_token.workflow_instance_id]);
  perform bpm_core.check_running(p_tenant_id, r_token.workflow_instance_id);
  select t.* into r_token from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = p_token_id;
  if r_token.state in ('Completed', 'Terminated') then
    perform bpm_core.fail('BP409', format('Token %s is %s.', p_token_id, r_token.state), jsonb_build_object('state', r_token.state));
  end if;
  v_token := (
    select row(r_token.tenant_id, r_token.workflow_instance_id, w.workflow_version_id, r_token.scope_id, r_token.id, r_token.node_id, r_token.via_flow_id,
               n.kind)::bpm_core.moving
      from bpm_core.workflow_instance w
     cross join lateral (select n.kind from bpm_core.workflow_node n
                          where n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = r_token.node_id offset 0) n
     where w.tenant_id = r_token.tenant_id and w.id = r_token.workflow_instance_id);
  perform bpm_core.bump_instances(p_tenant_id, array[v_token.instance_id]);
  if r_token.state = 'Waiting' and v_token.kind in ('ParallelJoin', 'InclusiveJoin') then
    perform bpm_core.leave_join(v_token);
  end if;
  perform bpm_core.close_waits(array[v_token]);
  return v_token;
end
$$;

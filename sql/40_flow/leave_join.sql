-- Takes a token that waits at a join out of its round, as if it had never arrived. The tokens behind it over the same flow belong to later rounds, so
-- only the last one can be taken.
-- Raises:   BP422 another came over the same flow after it (detail: last_token).
-- Writes:   parallel_join_arrival, parallel_join, inclusive_join. The instance is locked.
create or replace function bpm_core.leave_join(p_token bpm_core.moving)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_last record;
begin
  select a.round, a.token_id into r_last
    from bpm_core.parallel_join_arrival a
   where a.tenant_id = p_token.tenant_id and a.workflow_instance_id = p_token.instance_id and a.scope_id = p_token.scope_id
     and a.node_id = p_token.node_id and a.flow_id = p_token.flow_id
   order by a.round desc
   limit 1;
  if r_last.token_id <> p_token.token_id then
    perform bpm_core.fail('BP422', format('Token %s waits at join %s, and another came over the same flow after it.', p_token.token_id, p_token.node_id),
      jsonb_build_object('flow', p_token.flow_id, 'last_token', r_last.token_id), 'Take the one that came last.');
  end if;
  delete from bpm_core.parallel_join_arrival a
   where a.tenant_id = p_token.tenant_id and a.workflow_instance_id = p_token.instance_id and a.scope_id = p_token.scope_id
     and a.node_id = p_token.node_id and a.flow_id = p_token.flow_id and a.round = r_last.round;
  if p_token.kind = 'InclusiveJoin' then
    update bpm_core.inclusive_join j
       set waiting = j.waiting - 1, blocked_by = null,
           filled = case when j.round = r_last.round then set_bit(j.filled, f.place - f.first_place, 0) else j.filled end
      from bpm_core.inclusive_flow f
     where j.tenant_id = p_token.tenant_id and j.workflow_instance_id = p_token.instance_id and j.scope_id = p_token.scope_id
       and j.node_id = p_token.node_id
       and f.tenant_id = j.tenant_id and f.workflow_version_id = p_token.version_id and f.node_id = j.node_id and f.flow_id = p_token.flow_id;
    return;
  end if;
  delete from bpm_core.parallel_join j
   where j.tenant_id = p_token.tenant_id and j.workflow_instance_id = p_token.instance_id and j.scope_id = p_token.scope_id
     and j.node_id = p_token.node_id and j.round = r_last.round and j.joined = 1;
  update bpm_core.parallel_join j
     set joined = j.joined - 1
   where j.tenant_id = p_token.tenant_id and j.workflow_instance_id = p_token.instance_id and j.scope_id = p_token.scope_id
     and j.node_id = p_token.node_id and j.round = r_last.round;
end
$$;

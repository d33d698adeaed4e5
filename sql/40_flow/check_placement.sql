-- May a token be placed at a node by hand? It must lie in the same scope and be one that a flow can bring a token to.
-- Raises:   BP422 why not.
create or replace function bpm_core.check_placement(p_token bpm_core.moving, p_node_id text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_from bpm_core.workflow_node;
  r_to   bpm_core.workflow_node;
  v_why  text;
begin
  select n.* into r_from
    from bpm_core.workflow_node n
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_token.version_id and n.node_id = p_token.node_id;
  select n.* into r_to
    from bpm_core.workflow_node n
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_token.version_id and n.node_id = p_node_id;
  v_why := case
    when r_to.node_id is null then format('there is no node %L in its version', p_node_id)
    when r_to.scope_node_id is distinct from r_from.scope_node_id
      then format('%s lies %s, the token %s', p_node_id, coalesce('in ' || r_to.scope_node_id, 'outside of every sub-process'),
                  coalesce('in ' || r_from.scope_node_id, 'outside of every sub-process'))
    when r_to.kind in ('ParallelJoin', 'InclusiveJoin') then format('%s is a join, which counts what comes over each of its flows', p_node_id)
    when r_to.kind in ('CompensationMark', 'CompensationDone') then format('%s belongs to compensation', p_node_id)
    when r_to.incoming = 0 then format('no flow leads to %s (%s)', p_node_id, r_to.element) end;
  if v_why is not null then
    perform bpm_core.fail('BP422', format('Token %s cannot be moved from %s to %s: %s.', p_token.token_id, p_token.node_id, p_node_id, v_why),
      jsonb_build_object('from', p_token.node_id, 'to', p_node_id, 'from_scope', r_from.scope_node_id, 'to_scope', r_to.scope_node_id),
      'A token can be moved to any node within its sub-process that a flow leads to; to get into a join, skip the node before it.');
  end if;
end
$$;

-- The flow by which a skipped node is left: the only one, or the one that is named.
-- Returns:  text, its id.
-- Raises:   BP422 there is none, there are several and none is named, or the one named does not leave the node.
create or replace function bpm_core.way_out(p_token bpm_core.moving, p_flow_id text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_flows text[] := array(
    select f.flow_id
      from bpm_core.workflow_flow f
     where f.tenant_id = p_token.tenant_id and f.workflow_version_id = p_token.version_id and f.source_id = p_token.node_id
     order by f.ord);
  v_why   text;
begin
  v_why := case
    when cardinality(v_flows) = 0 then 'no flow leaves it'
    when p_flow_id is null and cardinality(v_flows) > 1 then format('%s flows leave it; name one', cardinality(v_flows))
    when p_flow_id <> all (v_flows) then format('flow %s does not leave it', p_flow_id) end;
  if v_why is not null then
    perform bpm_core.fail('BP422', format('Node %s cannot be skipped: %s.', p_token.node_id, v_why),
      jsonb_build_object('node', p_token.node_id, 'flows', v_flows),
      case when cardinality(v_flows) > 0 then 'p_flow_id names one of: ' || array_to_string(v_flows, ', ') || '.' end);
  end if;
  return coalesce(p_flow_id, v_flows[1]);
end
$$;

-- Says why a gateway could not choose: which flow was undecidable, or that none was true, with the values seen.
-- Returns:  trouble, codes ConditionUndecidable and NoFlowTrue.
create or replace function bpm_core.gateway_trouble(p_token bpm_core.moving, p_flow_id text, p_condition_source text, p_variables jsonb)
returns bpm_core.trouble
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_flows jsonb;
begin
  if p_flow_id is not null then
    return row(p_token, 'ConditionUndecidable',
      format('Gateway %s: the condition %s of flow %s cannot be decided.', p_token.node_id, p_condition_source, p_flow_id),
      jsonb_build_object('gateway', p_token.node_id, 'flow', p_flow_id, 'condition', p_condition_source,
                         'seen', bpm_core.describe_condition(p_condition_source, p_variables)))::bpm_core.trouble;
  end if;
  select jsonb_agg(jsonb_build_object('flow', f.flow_id, 'condition', f.condition_source,
                                      'seen', bpm_core.describe_condition(f.condition_source, p_variables)) order by f.ord)
    into v_flows
    from bpm_core.workflow_flow f
   where f.tenant_id = p_token.tenant_id and f.workflow_version_id = p_token.version_id and f.source_id = p_token.node_id;
  return row(p_token, 'NoFlowTrue',
    format('Gateway %s: no flow is true and there is no default.', p_token.node_id),
    jsonb_build_object('gateway', p_token.node_id, 'flows', v_flows))::bpm_core.trouble;
end
$$;

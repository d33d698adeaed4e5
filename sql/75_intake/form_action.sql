-- What a rule that applies asks for, with the values found in the event.
-- Returns:  action, as routing_decision keeps it; problem, what could not be decided and the values seen.
create or replace function bpm_core.form_action(p_rule bpm_core.routing_rule, p_context jsonb, out action jsonb, out problem jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_business_key text;
  v_key          text;
  v_mapped       jsonb;
  v_fault        text;
  v_seen         jsonb;
begin
  if p_rule.business_key_tree is not null then
    v_business_key := bpm_core.correlation_key(null, p_rule.business_key_tree, p_context);
  end if;
  if p_rule.correlation_tree is not null then
    v_key := bpm_core.correlation_key(null, p_rule.correlation_tree, p_context);
  end if;
  problem := case
    when p_rule.business_key_tree is not null and v_business_key is null then jsonb_build_object(
      'what', 'business key', 'expression', p_rule.business_key_path, 'seen', bpm_core.describe_tree(p_rule.business_key_tree, p_context))
    when p_rule.correlation_tree is not null and v_key is null then jsonb_build_object(
      'what', 'correlation key', 'expression', p_rule.correlation_path, 'seen', bpm_core.describe_tree(p_rule.correlation_tree, p_context)) end;
  if problem is null and p_rule.variables is not null then
    select m.mapped, m.problem, m.detail into v_mapped, v_fault, v_seen from bpm_core.map_values(p_rule.variables, p_context) m;
    if v_fault is not null then
      problem := jsonb_build_object('what', 'variables', 'problem', v_fault) || coalesce(v_seen, '{}');
    end if;
  end if;
  problem := problem || jsonb_build_object('rule', p_rule.code);
  action := jsonb_strip_nulls(jsonb_build_object(
    'action', p_rule.action, 'process_code', p_rule.process_code, 'business_key', v_business_key, 'message_name', p_rule.message_name,
    'correlation_key', case when p_rule.message_name is not null then coalesce(v_key, v_business_key) end,
    'ttl_seconds', case when p_rule.message_name is not null then trim_scale(extract(epoch from p_rule.message_ttl)) end))
    || case when p_rule.variables is not null and problem is null then jsonb_build_object('variables', v_mapped) else '{}'::jsonb end;
end
$$;

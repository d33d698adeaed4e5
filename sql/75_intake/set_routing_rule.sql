-- Sets a routing rule, or changes the one of this code: what is not given falls back to its default. Events already decided stay as they are; those that wait
-- are looked at anew with the next ticks.
-- p_event_type: a type, or its beginning with a star (order.*, *). p_condition, paths and p_variables ({"name": "expression"}) look at payload and event.
-- p_action: StartProcess, Correlate, Attach, Ignore, AskHuman, Outside. p_priority: of the rules that apply, all of the highest priority do.
-- Returns:  one row: code, is_new (false: there was one, now changed).
-- Raises:   BP400 ill-formed, BP403, BP422 unknown process, expression that cannot be read, parts that do not fit the action, BP429 more than 1,000 rules.
-- Writes:   routing_rule, routing_state, audit_event.
create or replace function bpm.set_routing_rule(
  p_code text, p_event_type text, p_action text, p_condition text default null, p_channel text default null, p_process_code text default null,
  p_business_key_path text default null, p_message_name text default null, p_correlation_path text default null, p_variables jsonb default null,
  p_priority integer default 0, p_message_ttl interval default interval '1 hour', p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (code text, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_now   timestamptz := bpm_core.now();
  v_rule  bpm_core.routing_rule;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  v_rule := row(p_tenant_id, bpm_core.new_id(), p_code, p_event_type, p_channel, p_priority, p_condition, null, null, p_action, p_process_code, p_business_key_path, null,
                p_message_name, p_correlation_path, null, p_message_ttl, null, p_reason, v_actor, v_now, v_now)::bpm_core.routing_rule;
  perform bpm_core.check_rule(v_rule, p_variables);
  v_rule := bpm_core.compile_rule(v_rule, p_variables);
  perform bpm_core.touch_rules(p_tenant_id);
  is_new := bpm_core.store_rule(v_rule);
  if is_new and (select count(*) from bpm_core.routing_rule r where r.tenant_id = p_tenant_id) > 1000 then
    perform bpm_core.fail('BP429', 'A tenant has at most 1000 routing rules.', null, 'Delete some, or write one rule for several types with a star and a condition.');
  end if;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SetRoutingRule', 'routing_rule', p_code, null, p_reason, jsonb_strip_nulls(jsonb_build_object(
    'event_type', p_event_type, 'channel', p_channel, 'action', p_action, 'condition', p_condition, 'priority', p_priority, 'process_code', p_process_code,
    'business_key_path', p_business_key_path, 'message_name', p_message_name, 'correlation_path', p_correlation_path, 'variables', p_variables)));
  code := p_code;
  return next;
end
$$;

-- Can this action be carried out, as far as it can be told without looking?
-- Returns:  text, what is wrong; null when nothing is.
create or replace function bpm_core.action_fault(p_action jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_action constant text := p_action ->> 'action';
begin
  return case
    when v_action is null or v_action not in ('StartProcess', 'Correlate', 'Attach', 'Ignore')
      then 'The actions of a decision are StartProcess, Correlate, Attach and Ignore.'
    when v_action = 'StartProcess' and not p_action ? 'process_code' then 'StartProcess needs a process_code.'
    when v_action = 'Correlate' and not (p_action ? 'message_name' and p_action ?| array['correlation_key', 'business_key'])
      then 'Correlate needs a message_name, and a correlation_key or business_key.'
    when v_action = 'Attach' and not p_action ?| array['business_key', 'process_instance_ids', 'task_ids']
      then 'Attach needs a business_key, process_instance_ids or task_ids.'
    when v_action = 'Attach' and p_action ? 'message_name' and not p_action ?| array['correlation_key', 'business_key']
      then 'A message needs a correlation_key or business_key.'
    when v_action = 'Ignore' and p_action - 'action' <> '{}' then 'Ignore takes nothing else.'
    when v_action = 'StartProcess' and p_action ?| array['message_name', 'correlation_key', 'ttl_seconds', 'process_instance_ids', 'task_ids']
      then 'StartProcess takes process_code, version, business_key, variables.'
    when v_action = 'Correlate' and p_action ?| array['process_code', 'version', 'process_instance_ids', 'task_ids']
      then 'Correlate takes message_name, correlation_key, business_key, variables, ttl_seconds.'
    when v_action = 'Attach' and (p_action ? 'version' or not p_action ? 'message_name' and p_action ?| array['variables', 'correlation_key', 'ttl_seconds'])
      then 'Attach takes business_key, process_code, process_instance_ids, task_ids; with a message_name also correlation_key, variables, ttl_seconds.'
    when p_action ? 'variables' then bpm_core.variables_fault(p_action -> 'variables') end;
end
$$;

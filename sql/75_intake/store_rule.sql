-- Inserts a rule, or puts it in the place of the one with its code. Changes of rules come one after the other (touch_rules).
-- Returns:  boolean, whether there was none. Writes: routing_rule.
create or replace function bpm_core.store_rule(p_rule bpm_core.routing_rule)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  update bpm_core.routing_rule r
     set event_type = p_rule.event_type, channel = p_rule.channel, priority = p_rule.priority, condition_source = p_rule.condition_source,
         condition = p_rule.condition, condition_tree = p_rule.condition_tree, action = p_rule.action, process_code = p_rule.process_code,
         business_key_path = p_rule.business_key_path, business_key_tree = p_rule.business_key_tree, message_name = p_rule.message_name,
         correlation_path = p_rule.correlation_path, correlation_tree = p_rule.correlation_tree, message_ttl = p_rule.message_ttl,
         variables = p_rule.variables, reason = p_rule.reason, updated_by = p_rule.updated_by, updated_at = p_rule.updated_at
    from (select p_rule.tenant_id as tenant_id, p_rule.code as code offset 0) k
   where r.code = k.code and r.tenant_id = k.tenant_id;
  if found then
    return false;
  end if;
  insert into bpm_core.routing_rule select (p_rule).*;
  return true;
end
$$;

-- Deletes a routing rule. What it decided stays decided; events that wait are looked at anew without it.
-- Returns:  one row: code.
-- Raises:   BP403, BP404, BP422 reason too long.
-- Writes:   routing_rule, routing_state, audit_event.
create or replace function bpm.delete_routing_rule(p_code text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (code text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  perform bpm_core.touch_rules(p_tenant_id);
  delete from bpm_core.routing_rule r where r.code = p_code and r.tenant_id = p_tenant_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no routing rule %L.', left(p_code, 200)), jsonb_build_object('code', left(p_code, 200)), 'See the view bpm.routing_rule.');
  end if;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'DeleteRoutingRule', 'routing_rule', p_code, null, p_reason);
  return query select p_code;
end
$$;

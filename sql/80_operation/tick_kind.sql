-- Which picker does which part of a tick.
-- Returns:  tick_result: rows done, the next position, when the next falls due.
create or replace function bpm_core.tick_kind(p_kind text, p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  case p_kind
    when 'timers' then
      return bpm_core.tick_timers(p_tenant_id, p_limit, p_position, p_now);
    when 'inbox' then
      return bpm_core.tick_inbox(p_tenant_id, p_limit, p_position, p_now);
    when 'tokens' then
      return bpm_core.tick_tokens(p_tenant_id, p_limit, p_position, p_now);
    when 'leases' then
      return bpm_core.tick_leases(p_tenant_id, p_limit, p_position, p_now);
    when 'messages' then
      return bpm_core.tick_messages(p_tenant_id, p_limit, p_position, p_now);
    when 'commands' then
      return bpm_core.tick_commands(p_tenant_id, p_limit, p_position, p_now);
    when 'unknown' then
      return bpm_core.tick_unknown(p_tenant_id, p_limit, p_position, p_now);
    when 'domain_events' then
      return bpm_core.tick_domain_events(p_tenant_id, p_limit, p_position, p_now);
    when 'events' then
      return bpm_core.tick_events(p_tenant_id, p_limit, p_position, p_now);
    when 'rules' then
      return bpm_core.tick_rules(p_tenant_id, p_limit, p_position, p_now);
    when 'decisions' then
      return bpm_core.drive_approval_times(p_tenant_id, p_limit, p_position, p_now);
    when 'approvals' then
      return bpm_core.drive_approval_effects(p_tenant_id, p_limit, p_position, p_now);
    else
      raise case_not_found;
  end case;
end
$$;

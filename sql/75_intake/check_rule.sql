-- Is this a routing rule that can be followed?
-- Raises:   BP400 ill-formed texts, BP422 what its action needs is missing or not there, what it has no use for is given.
create or replace function bpm_core.check_rule(p_rule bpm_core.routing_rule, p_variables jsonb)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_action constant text := p_rule.action;
  v_fault  text;
begin
  if coalesce(length(btrim(p_rule.code)), 0) not between 1 and 200 or coalesce(octet_length(p_rule.event_type), 0) not between 1 and 200
     or octet_length(p_rule.channel) not between 1 and 100 or length(p_rule.message_name) not between 1 and 300 or length(p_rule.process_code) not between 1 and 300
     or length(p_rule.reason) > 4000 or p_rule.priority is null then
    perform bpm_core.fail('BP400', 'The code of a rule has 1 to 200 characters, event type and channel 1 to 200 and 100 bytes, message name and process code 1 to 300 characters, the reason at most 4000; the priority is a number.');
  elsif p_rule.event_type ~ '\*' and p_rule.event_type !~ '^([^*]+\.)?\*$' then
    v_fault := 'A star stands alone or after a dot at the end of an event type: order.*, *.';
  elsif v_action is null or v_action not in ('StartProcess', 'Correlate', 'Attach', 'Ignore', 'AskHuman', 'Outside') then
    v_fault := format('%L is no action; there are StartProcess, Correlate, Attach, Ignore, AskHuman, Outside.', left(v_action, 100));
  elsif (p_rule.process_code is not null) and v_action not in ('StartProcess', 'Attach') or p_rule.process_code is null and v_action = 'StartProcess' then
    v_fault := 'A process code belongs to StartProcess, which needs it, and to Attach.';
  elsif p_rule.message_name is not null and v_action not in ('Correlate', 'Attach') or p_rule.message_name is null and v_action = 'Correlate' then
    v_fault := 'A message name belongs to Correlate, which needs it, and to Attach.';
  elsif p_rule.correlation_path is not null and p_rule.message_name is null then
    v_fault := 'A correlation path belongs to a message name.';
  elsif v_action = 'Correlate' and num_nonnulls(p_rule.correlation_path, p_rule.business_key_path) = 0 then
    v_fault := 'Correlate needs a correlation path, or a business key path to take its place.';
  elsif v_action = 'Attach' and p_rule.business_key_path is null then
    v_fault := 'Attach needs a business key path: it finds the instances of that business case.';
  elsif v_action in ('Ignore', 'AskHuman', 'Outside') and p_rule.business_key_path is not null then
    v_fault := format('%s has no use for a business key path.', v_action);
  elsif p_variables is not null and (v_action in ('Ignore', 'AskHuman', 'Outside') or v_action = 'Attach' and p_rule.message_name is null) then
    v_fault := 'Variables belong to a process to start or a message.';
  elsif p_variables is not null and (jsonb_typeof(p_variables) <> 'object' or jsonb_path_exists(p_variables, 'strict $.* ? (@.type() != "string")')) then
    v_fault := 'The variables are an object {"name": "expression"}, texts all.';
  elsif p_rule.message_ttl is null or p_rule.message_ttl not between interval '0' and interval '365 days' then
    v_fault := 'The time to live is 0 to 365 days.';
  elsif v_action = 'StartProcess' then
    v_fault := coalesce(bpm_core.start_refusal(p_rule.tenant_id, p_rule.process_code, null),
      case when not exists (select from bpm_core.startable_version(p_rule.tenant_id, p_rule.process_code, null))
           then format('There is no process %L that can be started.', p_rule.process_code) end);
  elsif p_rule.process_code is not null and not exists (
          select from bpm_core.process_definition d where d.code = p_rule.process_code and d.tenant_id is not distinct from p_rule.tenant_id) then
    v_fault := format('There is no process %L.', p_rule.process_code);
  end if;
  if v_fault is not null then
    perform bpm_core.fail('BP422', v_fault, jsonb_build_object('code', p_rule.code, 'action', left(v_action, 100)), 'See the page on intake.');
  end if;
end
$$;

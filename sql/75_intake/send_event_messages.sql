-- Under the locks of their keys: the messages that actions ask for, one after the other, and links with the instances they reached or started.
-- A message is called event:<event id>:<number of the action>; one nobody waits for is kept for its time to live.
-- Writes:   event_process_instance, and what keep_message and offer_message write.
create or replace function bpm_core.send_event_messages(p_tenant_id text, p_actions bpm_core.event_action[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_action  bpm_core.event_action;
  v_message uuid;
  v_name    text;
begin
  foreach v_action in array p_actions loop
    continue when v_action.message_name is null;
    v_name := format('event:%s:%s', v_action.event_id, v_action.n);
    v_message := bpm_core.keep_message(p_tenant_id, v_action.message_name, v_action.correlation_key, v_action.variables, v_action.ttl, v_name);
    if v_message is null then
      perform bpm_core.fail('BP409', format('There is a message %s already.', v_name));
    end if;
    perform bpm_core.offer_message(p_tenant_id, v_message, true);
    insert into bpm_core.event_process_instance (tenant_id, event_id, process_instance_id, how, at)
    select m.tenant_id, v_action.event_id, w.process_instance_id, case when m.started_id is null then 'Correlated' else 'Started' end, p_now
      from (select m.tenant_id, m.correlated_to, m.started_id from bpm_core.message m where m.tenant_id = p_tenant_id and m.id = v_message offset 0) m
      left join lateral (select s.workflow_instance_id from bpm_core.subscription s where s.tenant_id = m.tenant_id and s.id = m.correlated_to offset 0) s on true
     cross join lateral (select w.process_instance_id from bpm_core.workflow_instance w
                          where w.tenant_id = m.tenant_id and w.id = coalesce(s.workflow_instance_id, m.started_id) offset 0) w
    on conflict do nothing;
  end loop;
end
$$;

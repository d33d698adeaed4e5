-- Ends a subscription. Without any, no events are written.
-- Returns:  text, the code. The same call again changes nothing.
-- Raises:   BP403. BP404 no such subscription.
-- Writes:   event_subscription, audit_event.
create or replace function bpm.unsubscribe_events(p_code text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_ended timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  select s.ended_at into v_ended from bpm_core.event_subscription s where s.tenant_id = p_tenant_id and s.code = p_code for no key update;
  if not found then
    perform bpm_core.fail('BP404', format('There is no subscription %s.', p_code), jsonb_build_object('code', p_code));
  elsif v_ended is null then
    update bpm_core.event_subscription s
       set ended_at = bpm_core.now(), worker_id = null, lease_until = null
     where s.tenant_id = p_tenant_id and s.code = p_code;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'UnsubscribeEvents', 'event_subscription', p_code, null, p_reason);
  end if;
  return p_code;
end
$$;

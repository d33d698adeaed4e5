-- Tells somebody of what happens from now on: a destination (each event is sent there, with its id as the key), a channel of NOTIFY, or, without
-- either, who asks with claim_domain_events. Each event at least once, per instance in order. An existing subscription keeps its place.
-- p_process_code: only of this process. p_event_types: only these (null: all).
-- Returns:  text, the code.
-- Raises:   BP400 bad code. BP403. BP404 no such destination. BP422 both a destination and a channel, a bad channel, a type we do not know.
-- Writes:   event_subscription, event_stream, audit_event. Locks: event_stream.
create or replace function bpm.subscribe_events(
  p_code text, p_process_code text default null, p_event_types text[] default null, p_destination text default null, p_notify_channel text default null,
  p_actor text default null, p_tenant_id text default '')
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_now   timestamptz := bpm_core.now();
  v_last  bigint;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(btrim(p_code)), 0) not between 1 and 200 then
    perform bpm_core.fail('BP400', 'The code of a subscription has 1 to 200 characters.');
  elsif p_destination is not null and p_notify_channel is not null then
    perform bpm_core.fail('BP422', 'Events go to a destination or to a channel, not to both.', null, 'Make two subscriptions.');
  elsif p_notify_channel !~ '^[a-z_][a-z0-9_]{0,62}$' then
    perform bpm_core.fail('BP422', 'A channel has lower case letters, digits and underscores.', jsonb_build_object('channel', p_notify_channel));
  elsif exists (select from unnest(p_event_types) y(name) where not coalesce(bpm_core.is_event_type(y.name), false)) then
    perform bpm_core.fail('BP422', 'There is no such type of event.', jsonb_build_object('event_types', p_event_types));
  elsif p_destination is not null
        and not exists (select from bpm_core.destination d where d.tenant_id = p_tenant_id and d.code = p_destination) then
    perform bpm_core.fail('BP404', format('There is no destination %s.', p_destination), jsonb_build_object('destination', p_destination));
  end if;
  insert into bpm_core.event_stream (tenant_id) values (p_tenant_id) on conflict do nothing;
  select s.last_no into v_last from bpm_core.event_stream s where s.tenant_id = p_tenant_id for no key update;
  insert into bpm_core.event_subscription as s (
    tenant_id, code, process_code, event_types, destination_code, notify_channel, cursor_no, next_at, created_by, created_at)
  values (p_tenant_id, p_code, p_process_code, p_event_types, p_destination, p_notify_channel, v_last, v_now, v_actor, v_now)
  on conflict (tenant_id, code) do update
     set process_code = excluded.process_code, event_types = excluded.event_types, destination_code = excluded.destination_code,
         notify_channel = excluded.notify_channel, next_at = v_now, attempt = 0, ended_at = null,
         cursor_no = case when s.ended_at is null then s.cursor_no else excluded.cursor_no end;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SubscribeEvents', 'event_subscription', p_code, null, null,
    jsonb_strip_nulls(jsonb_build_object('process', p_process_code, 'destination', p_destination, 'channel', p_notify_channel)));
  return p_code;
end
$$;

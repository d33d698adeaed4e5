-- What conditions and paths of rules look at: {"payload": {…}, "event": {id, channel, session_id, thread_id, provider_event_id, type, occurred_at, received_at}}.
create or replace function bpm_core.event_context(p_event bpm_core.event)
returns jsonb
language sql stable parallel safe
as $$
  select jsonb_build_object('payload', p_event.payload, 'event', jsonb_build_object(
    'id', p_event.id, 'channel', p_event.channel, 'session_id', p_event.session_id, 'thread_id', p_event.thread_id,
    'provider_event_id', p_event.provider_event_id, 'type', p_event.event_type, 'occurred_at', p_event.occurred_at, 'received_at', p_event.received_at))
$$;

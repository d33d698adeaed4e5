-- Accepts one event. The single form of accept_events: commit, then acknowledge; an error is never an acknowledgement.
-- p_session_id: the account, mailbox, shop or device it came over. p_thread_id: what events keep their order in.
-- Returns:  one row: event_id, is_new (false: accepted before, the first answer), dispatch_state.
-- Raises:   BP409 the key was used for another content, BP422 payload, time or evidence refused; else as accept_events.
create or replace function bpm.accept_event(
  p_channel text, p_provider_event_id text, p_type text, p_payload jsonb default '{}', p_session_id text default '', p_thread_id text default null,
  p_occurred_at timestamptz default null, p_evidence jsonb default null, p_tenant_id text default '')
returns table (event_id uuid, is_new boolean, dispatch_state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  r_done record;
begin
  select a.* into r_done
    from bpm.accept_events(
      jsonb_build_array(jsonb_build_object(
        'channel', p_channel, 'provider_event_id', p_provider_event_id, 'type', p_type, 'payload', p_payload, 'session_id', p_session_id,
        'thread_id', p_thread_id, 'occurred_at', p_occurred_at, 'evidence', p_evidence)), p_tenant_id) a;
  if r_done.outcome <> 'Done' then
    perform bpm_core.fail(case r_done.outcome when 'Conflict' then 'BP409' else 'BP422' end, r_done.message,
      jsonb_build_object('channel', p_channel, 'provider_event_id', left(p_provider_event_id, 300), 'outcome', r_done.outcome),
      case r_done.outcome when 'Conflict' then 'The provider has given two events one id. See the view bpm.event.' end);
  end if;
  return query select r_done.event_id, r_done.is_new, r_done.dispatch_state;
end
$$;

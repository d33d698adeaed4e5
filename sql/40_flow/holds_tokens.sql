-- Whether a token that enters a node of this kind rests there until something happens.
create or replace function bpm_core.holds_tokens(p_kind bpm_core.node_kind)
returns boolean
language sql immutable parallel safe
as $$
  select p_kind in ('ServiceTask', 'UserTask', 'ApprovalTask', 'TimerCatch', 'MessageCatch', 'SignalCatch', 'ConditionalCatch', 'EventGateway',
                    'SubProcess', 'EventSubProcess', 'MultiInstance', 'StandardLoop', 'CallActivity', 'CompensationThrow')
$$;

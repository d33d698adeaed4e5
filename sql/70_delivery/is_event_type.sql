-- Is this a type of domain event that we know? Others are parked.
-- Returns:  boolean.
create or replace function bpm_core.is_event_type(p_type text)
returns boolean
language sql immutable parallel safe
as $$
  select p_type in ('InstanceStarted', 'InstanceCompleted', 'InstanceFailed', 'InstanceCancelled', 'ApprovalRequested', 'ApprovalReminded',
                    'ApprovalEscalated', 'ApprovalDecided', 'ReviewRequested', 'CommandSent', 'CommandFailed', 'CommandUnknown')
$$;

-- A row of history in the words of somebody who asks what was decided and what went out.
create or replace function bpm_core.trail_words(p_kind text, p_to_state text, p_detail jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case p_kind
    when 'InstanceStarted' then 'started'
    when 'InstanceCompleted' then 'completed'
    when 'InstanceFailed' then 'failed'
    when 'InstanceCancelled' then 'cancelled'
    when 'InstanceMigrated' then 'moved to another version'
    when 'VariablesSet' then 'set ' || coalesce((select string_agg(k, ', ' order by k) from jsonb_object_keys(case jsonb_typeof(p_detail -> 'variables') when 'object' then p_detail -> 'variables' else '{}' end) k), 'variables')
    when 'TaskCompleted' then 'did the task, attempt ' || (p_detail ->> 'attempt')
    when 'TaskFailed' then 'failed the task, attempt ' || (p_detail ->> 'attempt')
    when 'TaskReassigned' then case p_detail ->> 'delegation' when 'Pending' then 'handed the task on to ' when 'Resolved' then 'handed the task back to '
                                 else 'gave the task to ' end || coalesce(p_detail ->> 'to', 'nobody')
    when 'ApprovalRequested' then 'a decision is asked for'
    when 'ApprovalVoted' then case p_detail ->> 'vote' when 'Approve' then 'voted for it' else 'voted against it' end || bpm_core.trail_groups(p_detail)
    when 'ApprovalDecided' then case p_to_state when 'Approved' then 'approved' when 'Rejected' then 'rejected' else 'the time to decide is over' end || bpm_core.trail_groups(p_detail)
    when 'ApprovalApplied' then 'the decision took effect'
    when 'ApprovalClosed' then 'no decision is needed any more'
    when 'ApprovalReminded' then 'reminded, ' || (p_detail ->> 'reminder')
    when 'ApprovalEscalated' then 'may also be decided by ' || (p_detail ->> 'to')
    when 'ReviewRequested' then 'a result is to be reviewed'
    when 'ReviewDecided' then case p_to_state when 'Approve' then 'approved the result' when 'Reject' then 'rejected the result' else 'returned the result' end
    when 'ReviewSuperseded' then 'what is reviewed has moved'
    when 'CommandWritten' then 'a command for ' || (p_detail ->> 'destination')
    when 'CommandReconciled' then 'command reconciled: ' || p_to_state
    when 'IncidentOpened' then 'stopped: ' || (p_detail ->> 'code')
    when 'IncidentResolved' then 'driven again'
    else lower(regexp_replace(p_kind, '(?<=[a-z])(?=[A-Z])', ' ', 'g')) end
$$;

-- What happened, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.history with (security_barrier) as
select h.tenant_id,
       w.process_instance_id,
       h.workflow_instance_id,
       h.seq,
       h.at,
       case
         when h.kind in ('InstanceStarted', 'InstanceCompleted', 'InstanceFailed', 'InstanceCancelled', 'InstanceSuspended', 'InstanceResumed', 'InstanceMigrated',
                         'InstanceSkipped', 'VariablesPassed', 'ProcessEnded', 'VariablesSet', 'IncidentOpened', 'IncidentResolved') then 'instance'
         when h.kind in ('TaskCompleted', 'TaskFailed', 'TaskRetried', 'TaskCancelled', 'TaskRequeued', 'TaskExpired', 'TaskReassigned',
                         'TaskHeld', 'TaskReleased') then 'task'
         when h.kind in ('TimerStarted', 'TimerFired', 'TimerCancelled', 'TimerHeld', 'TimerReleased') then 'timer'
         when h.kind in ('MessageAwaited', 'MessageReceived', 'SignalAwaited', 'SignalReceived', 'SignalThrown', 'ConditionAwaited',
                         'ConditionMet', 'SubscriptionClosed') then 'message'
         when h.kind in ('ApprovalRequested', 'ApprovalDecided', 'ApprovalApplied', 'ApprovalClosed') then 'decision'
         when h.kind in ('CommandWritten', 'CommandSent', 'CommandFailed', 'CommandUnknown', 'CommandRetried', 'CommandCancelled',
                         'CommandReconciled') then 'delivery'
         when h.kind in ('CompensationRecorded', 'CompensationStarted', 'CompensationCompleted', 'CompensationFailed',
                         'TransactionCancelled') then 'compensation'
         else 'token'
       end as category,
       h.kind::text as kind,
       h.token_id,
       h.node_id,
       h.from_state,
       h.to_state,
       h.actor,
       h.detail
  from bpm_core.history_event h
  left join bpm_core.workflow_instance w on w.tenant_id = h.tenant_id and w.id = h.workflow_instance_id
 where h.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.history is 'Every change of instance, token, task, timer, message, decision and delivery; per instance in order of seq.';

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
         when h.kind in ('ApprovalRequested', 'ApprovalDecided', 'ApprovalApplied', 'ApprovalClosed', 'ApprovalVoted', 'ApprovalReminded', 'ApprovalEscalated',
                         'ReviewRequested', 'ReviewDecided', 'ReviewSuperseded', 'ReviewClosed') then 'decision'
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

create or replace view bpm.evidence with (security_barrier) as
select e.tenant_id,
       e.id as evidence_id,
       e.object_key,
       encode(e.sha256, 'hex') as sha256,
       e.mime,
       e.size_bytes,
       e.occurred_at,
       e.created_by,
       e.created_at,
       e.purged_at,
       e.purged_by
  from bpm_core.evidence e
 where e.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.evidence is 'What proves something, as metadata. Of what was purged only the tombstone is left: no object_key, the hash stays.';

create or replace view bpm.subject with (security_barrier) as
select s.tenant_id,
       s.id as subject_id,
       s.subject_type,
       s.subject_key,
       s.lock_version,
       coalesce(f.facts, '{}') as facts,
       s.created_at,
       s.updated_at
  from bpm_core.subject s
  left join lateral (select jsonb_object_agg(f.name, f.value) as facts
                       from bpm_core.fact f
                      where f.subject_id = s.id and f.tenant_id = s.tenant_id and f.superseded_by is null) f on true
 where s.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.subject is 'What facts are about, with its current facts as one object.';

create or replace view bpm.fact with (security_barrier) as
select f.tenant_id,
       f.id as fact_id,
       f.subject_id,
       s.subject_type,
       s.subject_key,
       f.subject_version,
       f.name,
       f.value,
       f.superseded_by is null as is_current,
       f.superseded_by,
       f.task_instance_id as task_id,
       f.attempt,
       w.process_instance_id,
       t.workflow_instance_id,
       t.node_id,
       f.review_id,
       f.evidence_ids,
       f.confirmed_by,
       f.at
  from bpm_core.fact f
  join bpm_core.subject s on s.tenant_id = f.tenant_id and s.id = f.subject_id
  left join bpm_core.task_instance t on t.tenant_id = f.tenant_id and t.id = f.task_instance_id
  left join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
 where f.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.fact is 'Facts, current and superseded, with their provenance: the task and attempt whose accepted result said so, or the review, and the evidence.';

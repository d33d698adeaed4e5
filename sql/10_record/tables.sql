-- What happened and what is true. Append-only.

create type bpm_core.history_kind as enum (
  'InstanceStarted', 'InstanceCompleted', 'InstanceFailed', 'InstanceCancelled', 'InstanceSuspended', 'InstanceResumed', 'InstanceMigrated', 'VariablesSet',
  'InstanceSkipped', 'VariablesPassed', 'ProcessEnded',
  'TokenMoved', 'FlowChosen', 'TokenForked', 'TokenBorn', 'JoinReached', 'JoinFired', 'TokenParked', 'TokenResumed', 'TokenCompleted', 'TokenTerminated',
  'TokenPlaced', 'NodeSkipped',
  'ScopeOpened', 'ScopeCompleted', 'ScopeCancelled',
  'CallStarted', 'CallCompleted', 'CallFailed',
  'TaskCompleted', 'TaskFailed', 'TaskRetried', 'TaskCancelled', 'TaskRequeued', 'TaskExpired', 'TaskReassigned', 'TaskHeld', 'TaskReleased',
  'TimerStarted', 'TimerFired', 'TimerCancelled', 'TimerHeld', 'TimerReleased',
  'MessageAwaited', 'MessageReceived', 'SignalAwaited', 'SignalReceived', 'SignalThrown', 'ConditionAwaited', 'ConditionMet', 'SubscriptionClosed',
  'ErrorThrown', 'ErrorCaught', 'EscalationThrown', 'EscalationCaught', 'IncidentOpened', 'IncidentResolved',
  'CompensationRecorded', 'CompensationStarted', 'CompensationCompleted', 'CompensationFailed', 'TransactionCancelled',
  'ApprovalRequested', 'ApprovalDecided', 'ApprovalApplied', 'ApprovalClosed',
  'CommandWritten', 'CommandSent', 'CommandFailed', 'CommandUnknown', 'CommandRetried', 'CommandCancelled', 'CommandReconciled');
comment on type bpm_core.history_kind is 'Closed vocabulary of history, explained in docs/reference/history.md.';

create table bpm_core.history_event (
  tenant_id            text collate "C" not null default '',
  workflow_instance_id uuid not null,
  seq                  bigint generated always as identity (cache 1),
  at                   timestamptz not null,
  kind                 bpm_core.history_kind not null,
  token_id             uuid,
  node_id              text collate "C",
  from_state           text,
  to_state             text,
  actor                text,
  detail               jsonb,
  primary key (tenant_id, workflow_instance_id, seq, at)
) partition by range (at);
comment on table bpm_core.history_event is
  'Every change of instance, token, timer, decision and delivery, written in the transaction of the change; never updated. Per instance seq is commit order: it is drawn under the instance lock.';
comment on column bpm_core.history_event.detail is 'What replay needs beyond the columns, for instance the patch of variables of a completed task.';

create table bpm_core.audit_event (
  tenant_id         text collate "C" not null default '',
  id                uuid not null,
  actor             text not null,
  action            text not null,
  aggregate_type    text not null,
  aggregate_id      text not null,
  aggregate_version integer,
  trace_id          text,
  reason            text,
  detail            jsonb not null default '{}',
  at                timestamptz not null,
  primary key (tenant_id, id)
);
create index audit_event_of_aggregate on bpm_core.audit_event (tenant_id, aggregate_type, aggregate_id, at);
comment on table bpm_core.audit_event is 'Every administrative or human action. What the machine does is in history_event.';

create table bpm_core.idempotency_key (
  tenant_id    text collate "C" not null default '',
  operation    text collate "C" not null,
  key          text collate "C" not null check (length(key) between 1 and 300),
  request_hash bytea not null,
  response     jsonb,
  status       text not null default 'Done' check (status in ('Done')),
  instance_id  uuid,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  primary key (tenant_id, operation, key)
);
create index idempotency_key_of_instance on bpm_core.idempotency_key (instance_id);
create index idempotency_key_expiry on bpm_core.idempotency_key (expires_at);
comment on table bpm_core.idempotency_key is 'Same key and request hash: the stored response. Another hash: BP409.';

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
  'ApprovalRequested', 'ApprovalDecided', 'ApprovalApplied', 'ApprovalClosed', 'ApprovalVoted', 'ApprovalReminded', 'ApprovalEscalated',
  'ReviewRequested', 'ReviewDecided', 'ReviewSuperseded', 'ReviewClosed',
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
  primary key (workflow_instance_id, seq, at, tenant_id)
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
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
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
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
create index idempotency_key_of_instance on bpm_core.idempotency_key (instance_id);
create index idempotency_key_expiry on bpm_core.idempotency_key (expires_at);
comment on table bpm_core.idempotency_key is 'Same key and request hash: the stored response. Another hash: BP409.';

create table bpm_core.evidence (
  tenant_id     text collate "C" not null default '',
  id            uuid not null,
  identity_hash bytea not null check (length(identity_hash) = 32),
  object_key    text collate "C" check (length(object_key) between 1 and 1024),
  sha256        bytea not null check (length(sha256) = 32),
  mime          text,
  size_bytes    bigint check (size_bytes >= 0),
  occurred_at   timestamptz,
  created_by    text not null,
  created_at    timestamptz not null,
  purged_at     timestamptz,
  purged_by     text,
  primary key (tenant_id, id),
  unique (identity_hash, tenant_id),
  check ((purged_at is null) = (object_key is not null)),
  check ((purged_at is null) = (purged_by is null))
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.evidence is 'What proves something, as metadata; the object itself lies in a store of its own. Never updated but for the purge, which leaves a tombstone with the hash.';
comment on column bpm_core.evidence.identity_hash is 'sha256 over the hash of the content and the object key: the same object is kept once, and known again after it was purged.';
comment on column bpm_core.evidence.object_key is 'Where the object lies: a key or an address, never with a credential. Cleared by the purge: a key can tell of a person.';

create table bpm_core.subject (
  tenant_id    text collate "C" not null default '',
  id           uuid not null,
  subject_type text collate "C" not null check (length(subject_type) between 1 and 200),
  subject_key  text collate "C" not null check (length(subject_key) between 1 and 300),
  lock_version integer not null default 0 check (lock_version >= 0),
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  primary key (tenant_id, id),
  unique (subject_key, subject_type, tenant_id)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.subject is 'What facts are about: a shipment, an order, a customer. Its state is its current facts.';
comment on column bpm_core.subject.lock_version is 'Grows by one with every accepted result or approved review that writes facts about it.';

create table bpm_core.fact (
  tenant_id        text collate "C" not null default '',
  id               uuid not null,
  subject_id       uuid not null,
  subject_version  integer not null check (subject_version > 0),
  name             text collate "C" not null check (length(name) between 1 and 200),
  value            jsonb not null,
  task_instance_id uuid,
  attempt          integer,
  review_id        uuid,
  evidence_ids     uuid[] not null default '{}',
  confirmed_by     text not null,
  superseded_by    uuid,
  at               timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, subject_id) references bpm_core.subject,
  foreign key (tenant_id, superseded_by) references bpm_core.fact,
  check ((task_instance_id is null) = (attempt is null)),
  check (task_instance_id is not null or review_id is not null),
  check (superseded_by <> id)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
create unique index fact_current on bpm_core.fact (subject_id, name, tenant_id) where superseded_by is null;
create index fact_of_subject on bpm_core.fact (subject_id, at);
create index fact_of_result on bpm_core.fact (task_instance_id, attempt);
create index fact_of_successor on bpm_core.fact (superseded_by) where superseded_by is not null;
comment on table bpm_core.fact is 'What is true of a subject, and how we know: from which accepted result or approved review, with which evidence. Append-only; superseded_by is set once.';
comment on column bpm_core.fact.subject_version is 'The lock_version its subject got with it.';
comment on column bpm_core.fact.task_instance_id is 'With attempt: the result it came with.';

-- A fact as it was told, and by what: an accepted result or an approved review. item tells those told together.
create type bpm_core.told_fact as (
  item integer, subject_type text, subject_key text, name text, value jsonb, expected_version integer, evidence_ids uuid[],
  task_instance_id uuid, attempt integer, review_id uuid, confirmed_by text);
